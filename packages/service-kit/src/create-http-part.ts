import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGracefulStop, type GracefulStopOptions } from './create-graceful-stop.ts'
import { ListenError } from './errors.ts'

export interface HttpPartOptions extends GracefulStopOptions {
  readonly host: string
  /** 0 takes any free port; `start` says which. */
  readonly port: number
  /** The variable that sets the port, for whoever has to choose another one. */
  readonly portVariable: string
}

/**
 * An HTTP server as a part of a service. `stop` answers what is under way, then closes. It knows what is under way by the
 * `request` event: a server that handles `checkContinue` itself must emit it for these requests, too.
 */
export function createHttpPart(server: Server, { host, port, portVariable, ...stopping }: HttpPartOptions) {
  const { track, underWayOn, stop } = createGracefulStop(server, stopping)
  server.prependListener('request', (_request, response) => track(response))
  const start = () =>
    new Promise<{ readonly port: number }>((resolve, reject) => {
      server.once('error', (cause) => {
        const message = `Could not listen on ${host}:${port}; choose another ${portVariable} or end what holds it.`
        reject(new ListenError(message, { cause }))
      })
      server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port }))
    })
  return { start, underWayOn, stop }
}

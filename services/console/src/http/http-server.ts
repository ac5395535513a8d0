import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGracefulStop, ListenError } from '@nextvisit/service-kit'

export interface HttpServerOptions {
  readonly host: string
  /** 0 takes any free port; `start` says which. */
  readonly port: number
  readonly listener: RequestListener
}

const CLOSE_WITHIN_MS = 3_000

/** The console's port for browsers. */
export function createHttpServer({ host, port, listener }: HttpServerOptions) {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 }, listener)
  const { track, stop } = createGracefulStop(server, { withinMs: CLOSE_WITHIN_MS })
  server.prependListener('request', (_request, response) => track(response))
  const start = () =>
    new Promise<{ readonly port: number }>((resolve, reject) => {
      server.once('error', (cause) => {
        const message = `Could not listen on ${host}:${port}; choose another CONSOLE_PORT or end what holds it.`
        reject(new ListenError(message, { cause }))
      })
      server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port }))
    })
  return { start, stop }
}

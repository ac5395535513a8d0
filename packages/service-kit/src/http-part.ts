import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Node, Yallist } from 'yallist'
import { ListenError } from './errors.ts'

const COUNT_EVERY_MS = 20

interface GracefulStopOptions {
  /** How long new connections are still accepted: load balancers notice meanwhile that the process stops. Default 0. */
  readonly delayMs?: number
  /**
   * How long new connections are accepted, at most, while kept ones are used. Callers must learn from the answers that the process
   * stops: a connection that the system has accepted for a closed port would be cut. Default 0.
   */
  readonly acceptWhileUsedMs?: number
  /** How long requests that are on their way on kept connections are still answered. Default 0. */
  readonly graceMs?: number
  /** After this time every connection is closed. */
  readonly withinMs: number
}

interface HttpPartOptions extends GracefulStopOptions {
  readonly host: string
  /** 0 takes any free port; `start` returns it. */
  readonly port: number
  /** Name of the variable that sets the port, for the error message. */
  readonly portVariable: string
}

/**
 * Makes an HTTP server a part of a service. `stop` answers the requests in flight, then closes. Requests are in flight from
 * their `request` event on: a server that handles `checkContinue` must emit it, too.
 */
export function createHttpPart(server: Server, { host, port, portVariable, ...stopping }: HttpPartOptions) {
  const { track, underWayOn, isStopping, stop } = createGracefulStop(server, stopping)
  server.prependListener('request', (_request, response) => track(response))
  const start = () =>
    new Promise<{ readonly port: number }>((resolve, reject) => {
      server.once('error', (cause) => {
        const message = `Could not listen on ${host}:${port}; choose another ${portVariable} or end the process that uses it.`
        reject(new ListenError(message, { cause }))
      })
      server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port }))
    })
  return { start, underWayOn, isStopping, stop }
}

/**
 * Stops an HTTP server: answers with `Connection: close`, refuses new connections after `delayMs`, answers requests in flight,
 * then closes all connections, so that silent callers do not delay it. `track` must see every response before its headers are
 * written.
 */
export function createGracefulStop(
  server: Server,
  { delayMs = 0, acceptWhileUsedMs = 0, graceMs = 0, withinMs }: GracefulStopOptions,
) {
  // Not a Set: its discarded hash tables would keep the responses of a busy server alive (performance.md, Memory).
  const underWay = new Yallist<ServerResponse>()
  let stopped: Promise<void> | undefined
  let isGraceOver = false
  const closeWhenDone = () => {
    if (isGraceOver && underWay.length === 0) server.closeAllConnections()
  }
  async function stop(): Promise<void> {
    for (const response of underWay) response.shouldKeepAlive = false
    if (delayMs > 0) await sleep(delayMs)
    const acceptUntil = performance.now() + acceptWhileUsedMs
    while (performance.now() < acceptUntil && (await countConnections(server)) > 0) await sleep(COUNT_EVERY_MS)
    await new Promise<void>((resolve) => {
      // `close` of an HTTP server would also reset connections whose next request is on its way.
      NetServer.prototype.close.call(server, () => resolve())
      setTimeout(() => {
        isGraceOver = true
        closeWhenDone()
      }, graceMs)
      setTimeout(() => server.closeAllConnections(), withinMs).unref()
    })
  }
  return {
    track: (response: ServerResponse): void => {
      if (stopped) response.shouldKeepAlive = false
      const node = new Node(response)
      underWay.pushNode(node)
      response.once('close', () => {
        underWay.removeNode(node)
        closeWhenDone()
      })
    },
    /** Returns the responses in flight on a connection, in the order of their requests. */
    underWayOn: (socket: Duplex): readonly ServerResponse[] => [...underWay].filter(({ req }) => req.socket === socket),
    isStopping: (): boolean => stopped !== undefined,
    /** A second call waits for the first. */
    stop: (): Promise<void> => (stopped ??= stop()),
  }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}

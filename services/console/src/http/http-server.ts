import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { boundConnections, createHttpPart, createUnreadAnswers } from '@nextvisit/service-kit'

/** Five people with seven open screens each use a tenth. */
const MAX_CONNECTIONS = 500
/** Requests of one connection without an answer. Browsers and proxies send the next one after the answer. */
const MAX_PIPELINED = 20
/** Eight of the largest answers. */
const MAX_UNREAD_BYTES = 64 * 2 ** 20
/** The largest answer at 280 kB a second. */
const READ_WITHIN_MS = 30_000
const CLOSE_WITHIN_MS = 3_000

export interface HttpServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly listener: RequestListener
  /** Maximum connections; one more is closed at once, and idle ones make room. Default 500. */
  readonly maxConnections?: number
  /** Maximum bytes of unread answers; over it, the connections that have waited longest are closed. Default 64 MiB. */
  readonly maxUnreadBytes?: number
  /** Time to read an answer, or what a file that is sent while it is made has buffered. Default 30 s. */
  readonly readWithinMs?: number
}

/** Creates the server for browsers. It is bounded like the gateway's (decisions.md, Slow and large). */
export function createHttpServer({
  host,
  port,
  listener,
  maxConnections = MAX_CONNECTIONS,
  maxUnreadBytes = MAX_UNREAD_BYTES,
  readWithinMs = READ_WITHIN_MS,
}: HttpServerOptions) {
  const unread = createUnreadAnswers({ maxBytes: maxUnreadBytes, withinMs: readWithinMs })
  const limits = {
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    // Longer than proxies keep connections: otherwise one could close under a request.
    keepAliveTimeout: 65_000,
  }
  const mayWait = createPipelineBound(MAX_PIPELINED)
  const server = createServer(limits, (request, response) => {
    if (!mayWait(request, response)) return
    unread.watch(response)
    listener(request, response)
  })
  boundConnections(server, maxConnections)
  return createHttpPart(server, { host, port, portVariable: 'CONSOLE_PORT', withinMs: CLOSE_WITHIN_MS })
}

/**
 * Returns a function that counts the requests of a connection without an answer. Above `max` it closes the connection and returns
 * false: thousands of requests fit into one packet, and their answers would wait behind a slow first one.
 */
function createPipelineBound(max: number) {
  const waiting = new WeakMap<Socket, number>()
  return ({ socket }: IncomingMessage, response: ServerResponse): boolean => {
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
    if (count <= max) return true
    socket.destroy()
    return false
  }
}

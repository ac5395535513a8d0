import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { GatewayListenError } from '../errors.ts'
import { answerClientError } from './client-error.ts'

const GRACE_MS = 300
const CLOSE_WITHIN_MS = 5_000

export interface HttpServer {
  readonly start: () => Promise<{ port: number }>
  /** Accepts no more, answers what is under way with `Connection: close`, then closes. */
  readonly stop: () => Promise<void>
}

/** The public server. `port` 0 takes any free one. */
export function createHttpServer(host: string, port: number, listener: RequestListener): HttpServer {
  let isStopping = false
  const server: Server = createServer(
    {
      requestTimeout: 10_000,
      headersTimeout: 5_000,
      connectionsCheckingInterval: 1_000,
      // Longer than a load balancer keeps a connection, so that none is closed under a request on its way.
      keepAliveTimeout: 65_000,
      noDelay: true,
    },
    (request, response) => {
      if (isStopping) response.shouldKeepAlive = false
      listener(request, response)
    },
  )
  server.on('clientError', answerClientError)

  return {
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', (cause) => reject(new GatewayListenError(host, port, { cause })))
        server.listen(port, host, () => resolve({ port: (server.address() as AddressInfo).port }))
      }),
    stop: () =>
      new Promise((resolve) => {
        isStopping = true
        // Node's own `close` would also reset connections whose next request is on its way.
        NetServer.prototype.close.call(server, () => resolve())
        setTimeout(() => server.closeIdleConnections(), GRACE_MS)
        setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS).unref()
      }),
  }
}

import { randomUUIDv7 } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { GatewayListenError } from '../errors.ts'
import { refuse } from '../refusal.ts'
import { answerClientError } from './client-error.ts'
import { drain } from './drain.ts'
import { saysTooLarge } from './read-body.ts'
import { writeAnswer } from './write-answer.ts'

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
  const serve: RequestListener = (request, response) => {
    if (isStopping) response.shouldKeepAlive = false
    if (lacksHost(request)) refuseRequest(request, response, 400, 'The Host header must be given')
    else listener(request, response)
  }
  const server: Server = createServer(
    {
      requestTimeout: 10_000,
      headersTimeout: 5_000,
      connectionsCheckingInterval: 1_000,
      // Longer than a load balancer keeps a connection, so that none is closed under a request on its way.
      keepAliveTimeout: 65_000,
      noDelay: true,
      // Refused below: Node's own refusal has neither body nor request id.
      requireHostHeader: false,
    },
    serve,
  )
  server.on('checkContinue', (request, response) => {
    // A body that is too large is refused without asking for it.
    if (!saysTooLarge(request)) response.writeContinue()
    serve(request, response)
  })
  server.on('checkExpectation', (request, response) =>
    refuseRequest(request, response, 417, 'Expect must be 100-continue or absent'),
  )
  server.on('connect', (_request, socket) => {
    // Node has let go of this socket: an error that nobody hears would end the process.
    socket.on('error', () => socket.destroy())
    answerClientError(new Error('CONNECT is for proxies'), socket)
  })
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

function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

function refuseRequest(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  writeAnswer(response, refuse(status, message), { 'X-Request-Id': randomUUIDv7(), Connection: 'close' })
  drain(request)
}

import { randomUUIDv7 } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { maxBodyBytesAt } from '@nextvisit/contracts'
import { boundConnections, createHttpPart, createUnreadAnswers } from '@nextvisit/service-kit'
import { errorBody, type RefusalRule, REFUSALS, refuse } from '../refusals/refusals.ts'
import { saysTooLarge } from './body/read-body.ts'
import { pathOf } from './route.ts'
import { JSON_TYPE, SECURITY_HEADERS, writeAnswer } from './answer/write-answer.ts'

const GRACE_MS = 300
/** An answer takes at most the largest `GATEWAY_REQUEST_BUDGET_MS` and half a second after its body is read. */
const CLOSE_WITHIN_MS = 6_000
const CLOSE_REFUSED_AFTER_MS = 1_000
const MAX_UNREAD_BYTES = 67_108_864
const READ_WITHIN_MS = 10_000

export interface HttpServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Maximum connections; one more is closed at once. */
  readonly maxConnections: number
  /** Maximum bytes of unread answers; over it, the connections that have waited longest are closed. Default 64 MiB. */
  readonly maxUnreadBytes?: number
  /** Time to read an answer; slower callers are disconnected. Default 10 s. */
  readonly readWithinMs?: number
  /** How long a stop still accepts connections. Default: 0. */
  readonly delayMs?: number
  readonly listener: RequestListener
  /** Name of the variable that sets the port, for the error text. */
  readonly portVariable: string
}

/** Creates the public server. */
export function createHttpServer({
  host,
  port,
  maxConnections,
  maxUnreadBytes = MAX_UNREAD_BYTES,
  readWithinMs = READ_WITHIN_MS,
  delayMs = 0,
  listener,
  portVariable,
}: HttpServerOptions) {
  const unread = createUnreadAnswers({ maxBytes: maxUnreadBytes, withinMs: readWithinMs })
  const serve: RequestListener = (request, response) => {
    unread.watch(response)
    if (lacksHost(request)) refuseRequest(response, REFUSALS.noHost)
    else listener(request, response)
  }
  const server = createServer(
    {
      requestTimeout: 10_000,
      headersTimeout: 5_000,
      connectionsCheckingInterval: 1_000,
      // Longer than load balancers keep connections: otherwise one could close under a request.
      keepAliveTimeout: 65_000,
      noDelay: true,
      // Refused above, since Node's own refusal has neither body nor request id.
      requireHostHeader: false,
    },
    serve,
  )
  boundConnections(server, maxConnections)
  server.on('checkContinue', (request, response) => {
    // Refuses an oversized body without asking for it.
    if (!saysTooLarge(request, maxBodyBytesAt(pathOf(request)))) response.writeContinue()
    // Not `serve` itself, since a stop must know about this request, too.
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (_request, response) => refuseRequest(response, REFUSALS.expectation))
  server.on('connect', (_request, socket) => {
    // Node no longer listens on this socket, and an error without a listener would end the process.
    socket.on('error', () => socket.destroy())
    const refuseTunnel = () => answerClientError(new Error('CONNECT is for proxies'), socket)
    const before = part.underWayOn(socket).at(-1)
    if (before) before.once('close', refuseTunnel)
    else refuseTunnel()
  })
  server.on('clientError', (error, socket) => {
    const underWay = part.underWayOn(socket)
    // Earlier requests may be recorded already, so they get their answers. The bytes after them are no HTTP.
    const last = underWay.findLast(({ req, headersSent }) => req.complete || headersSent)
    if (!last) return answerClientError(error, socket)
    socket.pause()
    if (last !== underWay.at(-1)) return void last.once('close', () => answerClientError(error, socket))
    last.shouldKeepAlive = false
    last.once('close', () => closeSoon(socket))
  })

  const part = createHttpPart(server, {
    host,
    port,
    portVariable,
    delayMs,
    graceMs: GRACE_MS,
    withinMs: CLOSE_WITHIN_MS,
  })
  return part
}

function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

function refuseRequest(response: ServerResponse, rule: RefusalRule): void {
  writeAnswer(response, refuse(rule), { 'X-Request-Id': randomUUIDv7(), Connection: 'close' })
}

/** Answers input that Node's HTTP parser refused, in the form of all errors. */
function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const { status, message } = clientErrorOf(error.code)
  const body = JSON.stringify(errorBody(status, message))
  const headers = {
    ...SECURITY_HEADERS,
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': randomUUIDv7(),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  closeSoon(socket)
}

/** Closes a socket after a second. Node's time limits no longer apply, and a caller may keep its side open indefinitely. */
function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), CLOSE_REFUSED_AFTER_MS)
  socket.once('close', () => clearTimeout(timer))
}

function clientErrorOf(code: string | undefined): RefusalRule {
  if (code === 'HPE_HEADER_OVERFLOW') return REFUSALS.headersTooLarge
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? REFUSALS.tooSlow : REFUSALS.notHttp
}

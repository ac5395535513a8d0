import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptOutcome } from '@nextvisit/contracts'
import { MAX_RETRY_DELAY_MS } from '@nextvisit/domain'
import { AddressBlockedError, type Connector } from './connector.ts'

export const ATTEMPT_WITHIN_MS = 15_000
const MAX_RESPONSE_BYTES = 4_096
/** The rest of a response that comes slowly is dropped after this: its status counts already. */
const BODY_WITHIN_MS = 2_000
/** More 1xx before the response end the attempt: each costs work, and there may be any number of them. */
const MAX_INTERIM_RESPONSES = 20
const TOO_MANY_INTERIM = 'TOO_MANY_INTERIM'
/** More pieces of the first 4 KB end the reading: each costs work. */
const MAX_PIECES = 64
/**
 * An attempt whose response came in too many pieces ends after this, so that its endpoint begins few others: 32 at once would use a
 * core.
 */
const FLOOD_PAUSE_MS = 2_000
/** Connections that are not used are closed after this. */
const KEEP_ALIVE_MS = 20_000

export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** Absent: no response came. */
  readonly httpStatus?: number
  /** Why no response came, or why it does not count. */
  readonly error?: string
  /** The first 4 KB. */
  readonly response?: string
  /** `Retry-After` of a response that does not count, at most 24 h. */
  readonly retryAfterMs?: number
  readonly durationMs: number
}

/** Options of a request that its new connection reads. */
interface ConnectionOptions {
  readonly host: string
  readonly port: number | string
  readonly isToSend: () => Promise<boolean>
}

/** The request must not be sent any more. */
class NotToSendError extends Error {
  override readonly name = 'NotToSendError'
  readonly code = 'NOT_TO_SEND'
  readonly retryable = true
}

/** Creates the connections of an endpoint. They stay open between requests, and no proxy is used, whatever the environment says. */
export function createEndpointAgent(protocol: string, { connectTo }: Connector): http.Agent {
  const agent = new (protocol === 'https:' ? https : http).Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS })
  agent.createConnection = (options, onCreated) => {
    const { host, port, isToSend } = options as unknown as ConnectionOptions
    const connect = async () => {
      const socket = await connectTo({ protocol, hostname: host, port: Number(port) })
      if (await isToSend().catch(() => false)) return socket
      socket.destroy()
      throw new NotToSendError()
    }
    connect().then(
      (socket) => onCreated?.(null, socket),
      (error: Error) => onCreated?.(error, undefined as never),
    )
    return undefined
  }
  return agent
}

export interface AttemptRequest {
  readonly url: URL
  readonly agent: http.Agent
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Returns false once the request must not be sent any more. Asked each time before it is sent, on a connection that is open. Default: true. */
  readonly isToSend?: () => Promise<boolean>
  /** Default: {@link ATTEMPT_WITHIN_MS}. */
  readonly withinMs?: number
  /** Ends the attempt. */
  readonly signal?: AbortSignal
}

/**
 * Sends one request and reads the response. A response counts once its headers have come, and redirects are not followed. A request over
 * a connection that the other end has closed meanwhile is sent again at once. Returns undefined if `signal` ended it before, or `isToSend` did,
 * or if `isToSend` took all of the time: this is no failure of the endpoint.
 */
export async function sendRequest(given: AttemptRequest): Promise<AttemptResult | undefined> {
  let isChecking = false
  let hasEndedInCheck = false
  const isToSend = async (): Promise<boolean> => {
    isChecking = true
    try {
      return await (given.isToSend?.() ?? true)
    } finally {
      isChecking = false
    }
  }
  // Before the time of the endpoint begins. An open connection sends at once, and a new one asks again.
  if (!(await isToSend().catch(() => false))) return undefined
  // It raises no event any more.
  if (given.signal?.aborted) return undefined
  const request = { ...given, isToSend }
  const beganMs = performance.now()
  const ending = new AbortController()
  const end = () => {
    hasEndedInCheck = isChecking
    ending.abort()
  }
  const timer = setTimeout(end, request.withinMs ?? ATTEMPT_WITHIN_MS)
  request.signal?.addEventListener('abort', end)
  try {
    const answered = await sendUntilAnswered(request, ending.signal)
    const durationMs = Math.round(performance.now() - beganMs)
    if (!('failure' in answered)) {
      const { isFlood, ...described } = await describeResponse(answered, ending.signal)
      if (isFlood) await pause(request.signal)
      return { ...described, durationMs }
    }
    if (request.signal?.aborted || hasEndedInCheck || answered.failure instanceof NotToSendError) return undefined
    if (answered.failure.code === TOO_MANY_INTERIM) await pause(request.signal)
    return { ...describeFailure(answered.failure, ending.signal.aborted), durationMs }
  } finally {
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', end)
  }
}

/** Resolves after {@link FLOOD_PAUSE_MS}, or when the process stops. */
function pause(signal: AbortSignal | undefined): Promise<void> {
  return sleep(FLOOD_PAUSE_MS, undefined, signal && { signal }).catch(() => {})
}

type CheckedRequest = AttemptRequest & Pick<ConnectionOptions, 'isToSend'>

async function sendUntilAnswered(
  request: CheckedRequest,
  signal: AbortSignal,
): Promise<http.IncomingMessage | NoResponse> {
  const answered = await sendOnce(request, signal)
  if (!('failure' in answered) || !answered.wasClosed || signal.aborted) return answered
  if (!(await request.isToSend().catch(() => false))) return { failure: new NotToSendError(), wasClosed: false }
  return sendOnce(request, signal)
}

interface NoResponse {
  readonly failure: NodeJS.ErrnoException
  /** The connection was open from an earlier request, and closed. */
  readonly wasClosed: boolean
}

async function sendOnce(
  { url, agent, headers, body, isToSend }: CheckedRequest,
  signal: AbortSignal,
): Promise<http.IncomingMessage | NoResponse> {
  const { promise, resolve } = Promise.withResolvers<http.IncomingMessage | NoResponse>()
  const bytes = Buffer.from(body)
  const all = { ...headers, 'content-length': String(bytes.length) }
  const options = { agent, method: 'POST', headers: all, signal, isToSend }
  const request = (url.protocol === 'https:' ? https : http).request(url, options)
  const fail = (failure: NodeJS.ErrnoException): void =>
    resolve({ failure, wasClosed: request.reusedSocket && failure.code === 'ECONNRESET' })
  let interim = 0
  request
    .once('response', resolve)
    .on('information', () => {
      interim += 1
      if (interim > MAX_INTERIM_RESPONSES) request.destroy(tooManyInterim())
    })
    .on('error', fail)
    .once('close', () => fail(Object.assign(new Error('No response'), { code: 'ECONNRESET' })))
    .end(bytes)
  return promise
}

function tooManyInterim(): Error {
  return Object.assign(new Error('Too many interim responses'), { code: TOO_MANY_INTERIM })
}

function describeFailure(failure: NodeJS.ErrnoException, isTimeout: boolean): Omit<AttemptResult, 'durationMs'> {
  if (failure instanceof AddressBlockedError) return { outcome: 'blocked', error: failure.message }
  if (isTimeout || failure.code === 'ETIMEDOUT') return { outcome: 'timeout', error: 'No response came in time' }
  const { code = 'UNKNOWN' } = failure
  return { outcome: 'unreachable', error: `${FAILURES[code] ?? 'No response came'} (${code})` }
}

/** Without the message of the error, which has the address. */
const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The connection was closed',
  EPIPE: 'The connection was closed',
  EHOSTUNREACH: 'The host is unreachable',
  ENETUNREACH: 'The network is unreachable',
  ENOTFOUND: 'The name is not known',
  EAI_AGAIN: 'The name could not be resolved',
  CERT_HAS_EXPIRED: 'The certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is of another name',
  HPE_HEADER_OVERFLOW: 'The headers of the response are too large',
  [TOO_MANY_INTERIM]: 'More than 20 interim responses (1xx) came',
}

/** Other 3xx, such as 304, name no other address. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function describeResponse(
  message: http.IncomingMessage,
  signal: AbortSignal,
): Promise<Omit<AttemptResult, 'durationMs'> & { readonly isFlood: boolean }> {
  const httpStatus = message.statusCode ?? 0
  const { response, isFlood } = await readStart(message, signal)
  if (httpStatus >= 200 && httpStatus < 300) return { outcome: 'delivered', httpStatus, response, isFlood }
  const retryAfterMs = parseRetryAfter(message.headers['retry-after'], Date.now())
  return {
    outcome: 'refused',
    httpStatus,
    response,
    isFlood,
    ...(REDIRECTS.has(httpStatus) && { error: 'Redirects are not followed' }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** Returns at most 4 KB of the body, as far as it comes in time and in few pieces. Text that Postgres cannot hold is replaced. */
async function readStart(
  message: http.IncomingMessage,
  signal: AbortSignal,
): Promise<{ readonly response: string; readonly isFlood: boolean }> {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const chunks: Buffer[] = []
  let size = 0
  message.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    // One byte more tells that there is a rest. It is dropped with the connection, also those pieces that have come already.
    if (size <= MAX_RESPONSE_BYTES && chunks.length <= MAX_PIECES) return
    message.removeAllListeners('data').destroy()
    resolve()
  })
  message
    .once('end', resolve)
    .on('error', () => resolve())
    .once('close', resolve)
  signal.addEventListener('abort', () => resolve())
  const timer = setTimeout(resolve, BODY_WITHIN_MS)
  await ended
  clearTimeout(timer)
  if (!message.complete) message.destroy()
  const start = Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES)
  return {
    response: new TextDecoder().decode(start).replaceAll('\0', '\uFFFD'),
    isFlood: chunks.length > MAX_PIECES,
  }
}

/** Parses `Retry-After`: seconds or a date. Returns undefined if it is neither, or in the past. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - nowMs
  return ms > 0 ? Math.min(ms, MAX_RETRY_DELAY_MS) : undefined
}

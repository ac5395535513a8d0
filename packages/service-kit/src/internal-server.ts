import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express'
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { BEHIND, type CallRoute, NOT_FOUND } from './calls.ts'
import { createHttpPart } from './http-part.ts'
import { KEEP_IDLE_MS } from './internal-client.ts'
import { messageOf } from './message-of.ts'
import type { ServicePart } from './run-service.ts'
import { isSampled, traceFields } from './trace-context.ts'
import type { Tracing } from './tracing.ts'

export type Health =
  | {
      readonly status: 'available'
      /** Problems that an operator must look at although the process works. */
      readonly alarms?: readonly string[]
    }
  | { readonly status: 'unavailable'; readonly because: string }

export interface InternalServerOptions {
  readonly host: string
  /** 0 takes any free port; `start` returns it. */
  readonly port: number
  /** The token that this process sends. */
  readonly token: string
  /** The tokens of callers. Default: `token`. */
  readonly acceptedTokens?: readonly string[]
  readonly routes: readonly CallRoute[]
  /** Liveness: a process that makes no progress is replaced by its supervisor. */
  readonly isLive: () => Health | Promise<Health>
  /** Readiness: a request would succeed now. */
  readonly isReady: () => Health | Promise<Health>
  /** Such as a registry of prom-client. */
  readonly metrics: { readonly contentType: string; metrics: () => Promise<string> }
  readonly logger: Logger
  /** Returns false while the process starts: callers go on to another process. Default: calls are always answered. */
  readonly takesCalls?: () => boolean
  /** How long a stop waits for kept connections, and refuses calls. Default: 0. */
  readonly drainWithinMs?: number
  readonly tracing?: Tracing | undefined
}

const MAX_BODY = '1mb'
const DEFAULT_DEADLINE_MS = 2_000
const MAX_DEADLINE_MS = 60_000
const HEALTH_WITHIN_MS = 2_000
/** Longer than clients and scrapers keep idle connections, so that no connection is closed while a request is on its way. */
const KEEP_ALIVE_MS = 65_000
/** Longer than clients keep idle connections, even if they stall: a stop closes none that a client might still use. */
const DRAIN_WITHIN_MS = 5 * KEEP_IDLE_MS
const CLOSE_WITHIN_MS = 4_000

/**
 * Creates a service's internal port: `/livez`, `/readyz`, `/metrics`, and its routes behind the bearer token. A route answers
 * 400 to a question that does not fit, 503 if its handler throws a `retryable` error or the caller is gone, and 500 otherwise.
 */
export function createInternalServer(options: InternalServerOptions) {
  const { host, port, takesCalls = () => true, drainWithinMs = 0 } = options
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: 5_000, requestTimeout: 10_000 },
    createApp({ ...options, takesCalls: () => takesCalls() && !part.isStopping() }),
  )
  const part = createHttpPart(server, {
    host,
    port,
    portVariable: 'INTERNAL_PORT',
    acceptWhileUsedMs: drainWithinMs,
    withinMs: CLOSE_WITHIN_MS,
  })
  return part
}

/**
 * Returns the internal port as two parts of a service. `listening` answers probes and scrapes from the beginning of a start.
 * `calls` comes after the parts that handlers use: the process is ready, and answers calls, once these have started and until
 * they stop. Before and after that, callers go on to another process. No call is cut off.
 */
export function internalServerParts(
  options: Omit<InternalServerOptions, 'takesCalls' | 'drainWithinMs'>,
): Readonly<Record<'listening' | 'calls', ServicePart>> {
  let takesCalls = false
  const { start, stop, isStopping } = createInternalServer({
    ...options,
    isReady: () => {
      if (takesCalls && !isStopping()) return options.isReady()
      return { status: 'unavailable', because: `the process ${takesCalls ? 'stops' : 'starts'}` }
    },
    takesCalls: () => takesCalls,
    drainWithinMs: DRAIN_WITHIN_MS,
  })
  return {
    listening: { name: 'internal server', start, stop },
    calls: { name: 'internal calls', start: async () => void (takesCalls = true), stop },
  }
}

function createApp(options: InternalServerOptions): Express {
  const { token, acceptedTokens = [token], routes, isLive, isReady, metrics, logger, tracing } = options
  const { takesCalls = () => true } = options
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Probes and scrapers would keep an idle connection, for which a stop would wait.
  app.get(['/livez', '/readyz', '/metrics'], (_request, response, next) => {
    response.set('Connection', 'close')
    next()
  })
  app.get('/livez', answerHealth(isLive))
  app.get('/readyz', answerHealth(isReady))
  app.get('/metrics', async (_request, response) => {
    const text = await metrics.metrics()
    response.type(metrics.contentType).send(text)
  })
  const readBody = express.json({ limit: MAX_BODY, inflate: false })
  const guards = [checkToken(acceptedTokens), requireReady(takesCalls)]
  const traced = tracing ? [traceCall(tracing)] : []
  for (const route of routes) app.post(route.path, ...guards, ...traced, readBody, answerCall(route, logger))
  app.use((_request, response) => refuse(response, 404, 'NO_SUCH_ROUTE', 'There is no such route on this port.'))
  app.use(answerBadBody)
  return app
}

function answerHealth(check: () => Health | Promise<Health>): RequestHandler {
  return async (_request, response) => {
    const health = await healthWithin(check).catch(
      (error: unknown): Health => ({ status: 'unavailable', because: `the check failed: ${messageOf(error)}` }),
    )
    response.status(health.status === 'available' ? 200 : 503).json(health)
  }
}

async function healthWithin(check: () => Health | Promise<Health>): Promise<Health> {
  const because = `the check took longer than ${HEALTH_WITHIN_MS} ms`
  return Promise.race([check(), sleep(HEALTH_WITHIN_MS, { status: 'unavailable', because } as const, { ref: false })])
}

/** Returns a digest of fixed length, as timingSafeEqual requires; it hides the length of the token, too. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function checkToken(tokens: readonly string[]): RequestHandler {
  const expected = tokens.map((token) => digest(`Bearer ${token}`))
  return (request, response, next) => {
    const given = digest(request.headers.authorization ?? '')
    if (expected.some((one) => timingSafeEqual(given, one))) return next()
    refuse(response, 401, 'UNAUTHORIZED', 'Send the INTERNAL_TOKEN of this installation as a bearer token.')
  }
}

function requireReady(takesCalls: () => boolean): RequestHandler {
  return (_request, response, next) => {
    if (takesCalls()) return next()
    refuse(response, 503, 'NOT_READY', 'The process starts or stops; ask another one.')
  }
}

/** Records the span of a call whose caller is sampled. */
function traceCall({ record }: Tracing): RequestHandler {
  return ({ headers: { traceparent }, path }, response, next) => {
    if (typeof traceparent === 'string' && isSampled(traceparent)) {
      const beganAt = performance.now()
      response.once('close', () =>
        record({
          name: `POST ${path}`,
          kind: 'server',
          causes: [traceparent],
          beganAt,
          endedAt: performance.now(),
          attributes: {
            'http.request.method': 'POST',
            'http.route': path,
            'http.response.status_code': response.statusCode,
          },
          error: response.statusCode >= 500 ? String(response.statusCode) : undefined,
        }),
      )
    }
    next()
  }
}

function answerCall(route: CallRoute, logger: Logger): RequestHandler {
  return async (request, response) => {
    const body = route.question.safeParse(request.body)
    if (!body.success) {
      const fault = body.error.issues[0]
      return refuse(response, 400, 'BAD_REQUEST', `${fault?.path.join('.') || 'body'}: ${fault?.message}`)
    }
    const abort = new AbortController()
    const withinMs = withinMsOf(request.headers)
    const deadlineAt = performance.now() + withinMs
    const timer = setTimeout(() => abort.abort(new Error('The deadline passed.')), withinMs)
    response.once('close', () => abort.abort(new Error('The caller disconnected.')))
    try {
      const answer = await route.handle(body.data, { signal: abort.signal, deadlineAt })
      if (answer === NOT_FOUND) refuse(response, 404, 'NOT_FOUND', 'The service found nothing.')
      else if (answer === BEHIND) refuse(response, 503, 'BEHIND', 'The requested rows are not folded yet; ask again.')
      else response.json(answer)
    } catch (err) {
      const isPassing = abort.signal.aborted || isExpectedToPass(err)
      const { traceparent } = request.headers
      const fields = { err, route: route.path, ...(typeof traceparent === 'string' && traceFields(traceparent)) }
      logger[isPassing ? 'warn' : 'error'](fields, 'an internal call failed')
      if (isPassing) refuse(response, 503, 'UNAVAILABLE', 'The service cannot answer now; ask again.')
      else refuse(response, 500, 'INTERNAL_ERROR', 'The service failed to answer; its log has the error.')
    } finally {
      clearTimeout(timer)
    }
  }
}

function withinMsOf(headers: { [name: string]: string | string[] | undefined }): number {
  const remainingMs = Number(headers['x-deadline-ms'])
  return remainingMs > 0 ? Math.min(remainingMs, MAX_DEADLINE_MS) : DEFAULT_DEADLINE_MS
}

function isExpectedToPass(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true
}

/** Answers the errors of express.json: too large, not JSON, compressed. */
const answerBadBody: ErrorRequestHandler = (error: { status?: number }, _request, response, _next) => {
  const status = error.status ?? 500
  refuse(
    response,
    status,
    status < 500 ? 'BAD_REQUEST' : 'INTERNAL_ERROR',
    `The body must be JSON of ${MAX_BODY} at most.`,
  )
}

function refuse(response: Response, status: number, error: string, message: string): void {
  response.status(status).json({ status, error, message })
}

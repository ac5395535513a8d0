import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { hashApiKey, parseApiKey, parseJson } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { type BatchTokens, type RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.ts'
import { type CheckedRequest, maxBodyBytesOf, type Route } from '../request/route.ts'
import { createBodyBudget } from './body-budget.ts'
import type { Answer } from '../request/answer.ts'
import { admissionBudgetMs } from '../request/budget.ts'
import type { CallerAddress } from './caller-address.ts'
import { BODY_WITHIN_MS, hasKnownEncoding, isJson, readBody } from './read-body.ts'
import { REFUSALS, type Refusal, refuse, refuseBody } from '../request/refusals.ts'
import { traceParentOf } from './trace-parent.ts'
import { CORS_HEADERS, writeAnswer } from './write-answer.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const
const TAKEN = { outcome: 'taken' } as const
/** Of the requests in flight, as many of one key may have a body that has not arrived completely. */
const UNFINISHED_SHARE = 1 / 4

export interface AnswerRequestParts {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly requestBudgetMs: number
  readonly maxInFlight: number
  readonly maxBodyBytesInFlight: number
  readonly callerAddress: CallerAddress
  /** Called for every request that was answered, with its route's pattern. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  readonly logger: Logger
}

export type AnswerRequest = ReturnType<typeof createAnswerRequest>

interface Exchange extends Pick<CheckedRequest, 'requestId' | 'traceparent' | 'parameters'> {
  readonly route: Route
  readonly request: IncomingMessage
  /** When its headers had arrived, a `performance.now()` instant. */
  readonly beganAt: number
  /** Of the answer, whatever it will be. */
  readonly headers: Record<string, string>
}

type Result = Answer | Refusal | { readonly outcome: 'aborted' }

/** Answers requests of known routes. */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { onAnswered, logger } = parts
  const checkAndHandle = createCheckAndHandle(parts)
  return async (
    route: Route,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const beganAt = performance.now()
    const requestId = randomUUIDv7()
    const traceparent = traceParentOf(request.headers['traceparent'], requestId)
    const headers: Record<string, string> = { 'X-Request-Id': requestId, ...(route.keyKind === 'sdk' && CORS_HEADERS) }
    const finish = (result: Answer | Refusal) => {
      const isWritten = writeAnswer(response, result, headers)
      const durationMs = performance.now() - beganAt
      onAnswered(route, result.status, durationMs)
      const facts = { requestId: headers['X-Request-Id'], traceparent, route: route.pattern }
      logger.debug({ ...facts, status: result.status, durationMs }, 'Answered')
      if (isWritten && result.outcome === 'answered') void result.afterwards?.()
    }
    try {
      const exchange = { route, parameters, request, beganAt, headers, requestId, traceparent }
      const result = await checkAndHandle(exchange)
      if (result.outcome !== 'aborted') finish(result)
    } catch (err) {
      logger.error({ err, requestId: headers['X-Request-Id'], traceparent, route: route.pattern }, 'A request failed')
      finish(refuse(REFUSALS.broken))
    }
  }
}

/** The checks that all routes share, in their order, then the route's own (decisions.md, Order of checks). */
function createCheckAndHandle(parts: AnswerRequestParts) {
  const { catalog, rateLimiter, requestBudgetMs, maxInFlight, maxBodyBytesInFlight, callerAddress } = parts
  const maxUnfinishedPerKey = Math.ceil(maxInFlight * UNFINISHED_SHARE)
  const openBody = createBodyBudget({ maxBytes: maxBodyBytesInFlight, maxUnfinishedPerKey })
  let inFlight = 0

  async function checkAndHandle(exchange: Exchange): Promise<Result> {
    const { route, request, beganAt } = exchange
    const key = keyOf(catalog, request.headers['x-api-key'])
    if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
    if (key.entry.kind !== route.keyKind) return refuse(REFUSALS.kindOfKey(route.keyKind))

    const limited = await takeTokens(exchange, key)
    if (limited.outcome === 'refused') return limited

    if (route.method === 'GET') return handle(exchange, key)

    if (!isJson(request)) return refuse(REFUSALS.contentType)
    if (!hasKnownEncoding(request)) return refuse(REFUSALS.contentEncoding)
    const permit = await permitFor(key, request)
    if (!permit) return refuse(REFUSALS.unfinishedBodies)
    try {
      const reading = { permit, maxBytes: maxBodyBytesOf(route), dueAt: beganAt + BODY_WITHIN_MS }
      const read = await readBody(request, reading)
      return read.outcome === 'ok' ? await handle(exchange, key, read.bytes) : read
    } finally {
      permit.release()
    }
  }

  /** One token, or what a batch takes. */
  async function takeTokens({ route, headers }: Exchange, { entry, project }: CatalogKey, batch?: BatchTokens) {
    const limit = project.config.rateLimits[route.keyKind]
    const verdict = await rateLimiter.take(entry.sha256, limit, batch)
    Object.assign(headers, rateLimitHeaders(route.keyKind, limit, verdict))
    return verdict.isAllowed ? TAKEN : refuse(REFUSALS.tooFast(limit.perSecond))
  }

  async function permitFor({ entry: { sha256 } }: CatalogKey, request: IncomingMessage) {
    const permit = openBody(sha256, !request.complete)
    if (permit) return permit
    // A body that came along with its headers has been parsed after this turn of the event loop.
    await nextTurn()
    return openBody(sha256, !request.complete)
  }

  /** Counts a request as in flight only from here on: one whose body is still coming takes nobody's place. */
  async function handle(exchange: Exchange, key: CatalogKey, bytes?: Uint8Array): Promise<Result> {
    if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
    inFlight += 1
    try {
      return await handleRead(exchange, key, bytes)
    } finally {
      inFlight -= 1
    }
  }

  async function handleRead(exchange: Exchange, key: CatalogKey, bytes?: Uint8Array): Promise<Result> {
    const { route, parameters, request, headers, requestId, traceparent } = exchange
    const { parseBody = parseJson } = route
    const parsed = bytes ? parseBody(bytes) : NO_BODY
    if (parsed.outcome === 'rejected') return refuseBody(parsed)

    const idempotent = bytes
      ? idempotentRequestOf({
          key: request.headers['idempotency-key'],
          route: route.pattern,
          bytes,
          project: key.project,
          apiKey: key.entry,
        })
      : 'none'
    if (typeof idempotent === 'object') headers['X-Request-Id'] = idempotent.recordId
    const beganAt = performance.now()
    return route.handle({
      requestId: typeof idempotent === 'object' ? idempotent.recordId : requestId,
      traceparent,
      receivedMs: Date.now(),
      deadlineAt: beganAt + requestBudgetMs,
      admissionDeadlineAt: beganAt + admissionBudgetMs(requestBudgetMs),
      key,
      project: key.project,
      callerAddress: () => callerAddress(request),
      body: parsed.body,
      takeBatchTokens: (tokens) => {
        // One was taken before the body was read: of a full bucket, so many are left.
        const left = key.project.config.rateLimits[route.keyKind].burst - 1
        return takeTokens(exchange, key, { need: Math.min(tokens, left), owed: Math.max(0, tokens - left) })
      },
      idempotent,
      parameters,
    })
  }

  return checkAndHandle
}

/** The key of a request, unless it is missing, malformed, unknown or revoked. A header that came twice arrives joined, so it is malformed. */
function keyOf(catalog: CatalogView, header: string | string[] | undefined): CatalogKey | undefined {
  return typeof header === 'string' && parseApiKey(header) ? catalog.keyByHash(hashApiKey(header)) : undefined
}

import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { hashApiKey, type JsonObject, parseApiKey, parseJson } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { type RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.ts'
import type { CheckedRequest, Route } from '../routes/route.ts'
import { REQUEST_BUDGET_MS } from './budget.ts'
import type { CallerAddress } from './caller-address.ts'
import { discardBody, hasKnownEncoding, isJson, readBody } from './read-body.ts'
import { REFUSALS, type Refusal, refuse, refuseBody } from './refusals.ts'
import { traceParentOf } from './trace-parent.ts'
import { type Answer, CORS_HEADERS, writeAnswer } from './write-answer.ts'

export interface AnswerRequestParts {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly maxInFlight: number
  readonly callerAddress: CallerAddress
  /** Called for every request that was answered, with its route's pattern. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  readonly logger: Logger
}

export type AnswerRequest = ReturnType<typeof createAnswerRequest>

interface Exchange extends Pick<CheckedRequest, 'requestId' | 'traceparent' | 'parameters'> {
  readonly route: Route
  readonly request: IncomingMessage
  /** Of the answer, whatever it will be. */
  readonly headers: Record<string, string>
}

/** Answers requests of known routes, and at most `maxInFlight` of them at once. */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { maxInFlight, onAnswered, logger } = parts
  let inFlight = 0
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
      discardBody(request)
      const durationMs = performance.now() - beganAt
      onAnswered(route, result.status, durationMs)
      const facts = { requestId: headers['X-Request-Id'], traceparent, route: route.pattern }
      logger.debug({ ...facts, status: result.status, durationMs }, 'Answered')
      if (isWritten && result.outcome === 'answered') void result.afterwards?.()
    }
    inFlight += 1
    try {
      const exchange = { route, parameters, request, headers, requestId, traceparent }
      const result = inFlight > maxInFlight ? refuse(REFUSALS.busy) : await checkAndHandle(parts, exchange)
      if (result !== 'aborted') finish(result)
    } catch (err) {
      logger.error({ err, requestId: headers['X-Request-Id'], traceparent, route: route.pattern }, 'A request failed')
      finish(refuse(REFUSALS.broken))
    } finally {
      inFlight -= 1
    }
  }
}

/** The checks that all routes share, in their order, then the route's own (decisions.md, Order of checks). */
async function checkAndHandle(
  { catalog, rateLimiter, callerAddress }: AnswerRequestParts,
  { route, parameters, request, headers, requestId, traceparent }: Exchange,
): Promise<Answer | Refusal | 'aborted'> {
  const key = keyOf(catalog, request.headers['x-api-key'])
  if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
  if (key.entry.kind !== route.keyKind) return refuse(REFUSALS.kindOfKey(route.keyKind))

  const limit = key.project.config.rateLimits[route.keyKind]
  const verdict = await rateLimiter.take(key.entry.sha256, limit)
  Object.assign(headers, rateLimitHeaders(route.keyKind, limit, verdict))
  if (!verdict.isAllowed) return refuse(REFUSALS.tooFast(limit.perSecond))

  const read = route.method === 'POST' ? await readJson(request) : NO_BODY
  if (read.outcome === 'aborted') return 'aborted'
  if (read.outcome === 'refused') return read

  const idempotent = idempotentRequestOf({
    header: route.method === 'POST' ? request.headers['idempotency-key'] : undefined,
    route: route.pattern,
    bytes: read.bytes,
    project: key.project,
    apiKey: key.entry,
  })
  if (typeof idempotent === 'object') headers['X-Request-Id'] = idempotent.recordId
  return route.handle({
    requestId: typeof idempotent === 'object' ? idempotent.recordId : requestId,
    traceparent,
    receivedMs: Date.now(),
    deadlineAt: performance.now() + REQUEST_BUDGET_MS,
    key,
    project: key.project,
    callerAddress: () => callerAddress(request),
    body: read.body,
    idempotent,
    parameters,
  })
}

/** The key of a request, unless it is missing, malformed, unknown or revoked. A header that came twice arrives joined, so it is malformed. */
function keyOf(catalog: CatalogView, header: string | string[] | undefined): CatalogKey | undefined {
  return typeof header === 'string' && parseApiKey(header) ? catalog.keyByHash(hashApiKey(header)) : undefined
}

type ReadJson =
  | { readonly outcome: 'ok'; readonly body: JsonObject; readonly bytes: Uint8Array }
  | { readonly outcome: 'aborted' }
  | Refusal
const NO_BODY: ReadJson = { outcome: 'ok', body: {}, bytes: new Uint8Array() }

async function readJson(request: IncomingMessage): Promise<ReadJson> {
  if (!isJson(request)) return refuse(REFUSALS.contentType)
  if (!hasKnownEncoding(request)) return refuse(REFUSALS.contentEncoding)
  const read = await readBody(request)
  if (read.outcome !== 'ok') return read
  const parsed = parseJson(read.bytes)
  return parsed.outcome === 'ok' ? { ...parsed, bytes: read.bytes } : refuseBody(parsed)
}

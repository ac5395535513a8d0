import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import type { KeyKind, RateLimit } from '@nextvisit/contracts'
import { type JsonObject, parseJson } from '@nextvisit/domain'
import { REQUEST_BUDGET_MS } from '../budget.ts'
import { keyedRequestOf } from '../idempotency/keyed-request.ts'
import type { Logger } from '../logger.ts'
import { type RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.ts'
import { busy, type Refusal, refuse, refuseBody } from '../refusal.ts'
import type { Answer, Route } from '../route.ts'
import type { CallerAddress } from './caller-address.ts'
import { checkKey } from './check-key.ts'
import { corsHeaders } from './cors.ts'
import { drain } from './drain.ts'
import { hasKnownEncoding, readBody } from './read-body.ts'
import { traceParentOf } from './trace-parent.ts'
import { writeAnswer } from './write-answer.ts'

export interface AnswerRequestParts {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly maxInFlight: number
  readonly callerAddress: CallerAddress
  /** Told of every request that was answered, by its route's pattern. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  readonly logger: Logger
}

/** What a route's pattern and the rest of the URL gave. */
export interface Located {
  readonly pathParameters: ReadonlyMap<string, string>
  readonly query: URLSearchParams
}

export type AnswerRequest = (
  route: Route,
  located: Located,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i
type Headers = Record<string, string> & { 'X-Request-Id': string }

/** Takes a request of a known route through every check, in the decided order, to its answer (decisions.md, Order of checks). */
export function createAnswerRequest(parts: AnswerRequestParts): AnswerRequest {
  const { maxInFlight, onAnswered, logger } = parts
  let inFlight = 0
  return async (route, located, request, response) => {
    const beganAt = performance.now()
    const headers: Headers = { 'X-Request-Id': randomUUIDv7(), ...(route.keyKind === 'sdk' && corsHeaders) }
    const traceparent = traceParentOf(request.headers['traceparent'], headers['X-Request-Id'])
    const told = (status: number) => {
      const durationMs = performance.now() - beganAt
      onAnswered(route, status, durationMs)
      const requestId = headers['X-Request-Id']
      logger.debug({ requestId, traceparent, route: route.pattern, status, durationMs }, 'Answered')
    }
    inFlight += 1
    try {
      const result =
        inFlight > maxInFlight
          ? tooBusy()
          : await checkAndHandle(parts, { route, located, request, headers, traceparent })
      if (result === 'aborted') return
      const isWritten = writeAnswer(response, result, headers)
      drain(request)
      told(result.status)
      if (isWritten && result.outcome === 'answered') void result.afterwards?.()
    } catch (err) {
      logger.error({ err, requestId: headers['X-Request-Id'], traceparent, route: route.pattern }, 'A request failed')
      writeAnswer(response, refuse(500, 'Internal Server Error'), headers)
      drain(request)
      told(500)
    } finally {
      inFlight -= 1
    }
  }
}

interface Exchange {
  readonly route: Route
  readonly located: Located
  readonly request: IncomingMessage
  /** Of the answer, whatever it will be. */
  readonly headers: Headers
  readonly traceparent: string
}

async function checkAndHandle(
  { catalog, rateLimiter, callerAddress }: AnswerRequestParts,
  { route, located, request, headers, traceparent }: Exchange,
): Promise<Answer | Refusal | 'aborted'> {
  const checked = checkKey(catalog, request.headers['x-api-key'], route.keyKind)
  if (checked.outcome === 'refused') return checked
  const { key } = checked
  const limited = await checkRate(rateLimiter, key, headers)
  if (limited) return limited
  const read = route.method === 'POST' ? await readJson(request) : NO_BODY
  if (read.outcome !== 'ok') return read.outcome === 'aborted' ? 'aborted' : read
  const keyed = keyedRequestOf({
    header: route.method === 'POST' ? request.headers['idempotency-key'] : undefined,
    route: route.pattern,
    bytes: read.bytes,
    project: key.project,
  })
  if (typeof keyed === 'object') headers['X-Request-Id'] = keyed.recordId
  return route.handle({
    requestId: headers['X-Request-Id'],
    traceparent,
    receivedMs: Date.now(),
    deadlineAt: performance.now() + REQUEST_BUDGET_MS,
    key,
    project: key.project,
    callerAddress: () => callerAddress(request),
    body: read.body,
    keyed,
    ...located,
  })
}

async function checkRate(rateLimiter: RateLimiter, key: CatalogKey, headers: Headers): Promise<Refusal | undefined> {
  const kind: KeyKind = key.entry.kind
  const limit: RateLimit = key.project.config.rateLimits[kind]
  const verdict = await rateLimiter.take(key.entry.sha256, limit)
  Object.assign(headers, rateLimitHeaders(kind, limit, verdict))
  return verdict.isAllowed
    ? undefined
    : refuse(429, `At most ${limit.perSecond} requests a second with this key: slow down`)
}

type ReadJson =
  | { readonly outcome: 'ok'; readonly body: JsonObject; readonly bytes: Uint8Array }
  | { readonly outcome: 'aborted' }
  | Refusal
const NO_BODY: ReadJson = { outcome: 'ok', body: {}, bytes: new Uint8Array() }

async function readJson(request: IncomingMessage): Promise<ReadJson> {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    return refuse(415, 'Content-Type must be application/json')
  if (!hasKnownEncoding(request)) return refuse(415, 'Content-Encoding must be gzip or absent')
  const read = await readBody(request)
  if (read.outcome !== 'ok') return read
  const parsed = parseJson(read.bytes)
  return parsed.outcome === 'ok' ? { ...parsed, bytes: read.bytes } : refuseBody(parsed)
}

function tooBusy(): Refusal {
  return busy('Too many requests at once: try again')
}

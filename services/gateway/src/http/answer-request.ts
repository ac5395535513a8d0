import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { hashApiKey, type JsonObject, memberOf, parseApiKey, parseJson } from '@nextvisit/domain'
import {
  BODY_WITHIN_MS,
  type BodyPermit,
  type CallerAddress,
  CORS_HEADERS,
  createBodyBudget,
  createTurnsByKey,
  hasKnownEncoding,
  isJson,
  KEY_IN_BODY,
  readBody,
  textOf,
  traceParentOf,
  writeAnswer,
} from '@nextvisit/http-edge'
import { idempotentRequestOf } from '@nextvisit/idempotency'
import { maxBodyBytesOf, type Refusal, REFUSALS, refuse, refuseBody } from '@nextvisit/public-api'
import {
  type BatchTokens,
  leastPriceOf,
  owedForRead,
  presenceOf,
  priceOf,
  type RateLimiter,
  rateLimitHeaders,
  restOf,
} from '@nextvisit/rate-limit'
import type { NoteRefusal } from '@nextvisit/refusals'
import type { Logger } from '@nextvisit/service-kit'
import type { CheckedRequest, Route, RouteAnswer } from '../request/route.ts'
import { admissionBudgetMs } from '../request/budget.ts'
import { isKeyInBody, keyInHeaders, writeKeyIn } from './key-text.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const
const TAKEN = { outcome: 'taken' } as const
/** Of the requests in flight, as many of one key may have a body that has not arrived completely. */
const UNFINISHED_SHARE = 1 / 4
/** Bodies of one key that are inflated at once. More would fill the thread pool. What is inflated waits for nothing else. */
const INFLATING = { atOnce: 8, worksForMs: 10_000 }

export interface AnswerRequestParts {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly requestBudgetMs: number
  readonly maxInFlight: number
  readonly maxBodyBytesInFlight: number
  readonly callerAddress: CallerAddress
  /** Called for every request that was answered, with its route's pattern. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  /** Called for every request, and every item of one, that was refused. */
  readonly onRefused: NoteRefusal
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
  /** As far as it was read, for a refusal of it. */
  readonly known: { key?: CatalogKey; body?: JsonObject }
}

type Result = RouteAnswer | Refusal | { readonly outcome: 'aborted' }

/** Answers requests of known routes. */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { onAnswered, onRefused, logger } = parts
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
    const known: Exchange['known'] = {}
    const finish = (result: RouteAnswer | Refusal) => {
      const isWritten = writeAnswer(response, result, headers)
      const durationMs = performance.now() - beganAt
      onAnswered(route, result.status, durationMs)
      const facts = { requestId: headers['X-Request-Id'], traceparent, route: route.pattern }
      logger.debug({ ...facts, status: result.status, durationMs }, 'Answered')
      if (result.outcome === 'refused')
        onRefused({ route, requestId: headers['X-Request-Id'] ?? requestId, ...known }, result)
      if (isWritten && result.outcome === 'answered') void route.afterwards?.(result, traceparent)
    }
    try {
      const exchange = { route, parameters, request, beganAt, headers, known, requestId, traceparent }
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
  const { catalog, rateLimiter, requestBudgetMs, maxInFlight, maxBodyBytesInFlight, callerAddress, onRefused } = parts
  const maxUnfinishedPerKey = Math.ceil(maxInFlight * UNFINISHED_SHARE)
  const openBody = createBodyBudget({ maxBytes: maxBodyBytesInFlight, maxUnfinishedPerKey })
  const readInTurn = createTurnsByKey()
  const inflateInTurn = createTurnsByKey(INFLATING)
  let inFlight = 0

  async function checkAndHandle(exchange: Exchange): Promise<Result> {
    const { route, request } = exchange
    if (isKeyInBody(route, request))
      return withBody(exchange, KEY_IN_BODY, (...body) => handleKeyInBody(exchange, ...body))
    const checked = await checkKey(exchange, keyInHeaders(route, request))
    if (checked.outcome === 'refused') return checked
    const { key } = checked
    if (route.method === 'GET') return oweForRead(exchange, key, await handle(exchange, key))
    return withBody(exchange, key.entry.sha256, (bytes) => handle(exchange, key, bytes))
  }

  async function handleKeyInBody(exchange: Exchange, bytes: Uint8Array, permit: BodyPermit): Promise<Result> {
    const named = writeKeyIn(bytes)
    const checked = await checkKey(exchange, named)
    if (checked.outcome === 'refused') return checked
    const { key } = checked
    return permit.moveTo(key.entry.sha256) ? handle(exchange, key, bytes, named) : refuse(REFUSALS.tooManyBytes)
  }

  /** The key, its kind, and its rate limit. */
  async function checkKey(exchange: Exchange, named: string | undefined) {
    const { keyKind } = exchange.route
    const key = named !== undefined && parseApiKey(named) ? catalog.keyByHash(hashApiKey(named)) : undefined
    if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
    exchange.known.key = key
    if (key.entry.kind !== keyKind) return refuse(REFUSALS.kindOfKey(keyKind))
    const limited = await takeTokens(exchange, key)
    return limited.outcome === 'refused' ? limited : ({ outcome: 'known', key } as const)
  }

  /** `holder`: whose share of the memory for bodies it takes. */
  async function withBody(
    { route, request, beganAt }: Exchange,
    holder: string,
    handleBody: (bytes: Uint8Array, permit: BodyPermit) => Promise<Result>,
  ): Promise<Result> {
    // Libraries of Segment's API that compress name no type, or a wrong one.
    if (!route.keyIn && !isJson(request)) return refuse(REFUSALS.contentType)
    if (!hasKnownEncoding(request)) return refuse(REFUSALS.contentEncoding)
    const permit = await permitFor(holder, request)
    if (!permit) return refuse(REFUSALS.unfinishedBodies)
    try {
      const read = await readBody(request, {
        permit,
        maxBytes: maxBodyBytesOf(route),
        dueAt: beganAt + BODY_WITHIN_MS,
        inTurn: (inflating) => inflateInTurn(holder, inflating),
      })
      return read.outcome === 'ok' ? await handleBody(read.bytes, permit) : read
    } finally {
      permit.release()
    }
  }

  /** One token, or what a request takes besides. */
  async function takeTokens({ route, headers }: Exchange, { entry, project }: CatalogKey, batch?: BatchTokens) {
    const limit = project.config.rateLimits[route.keyKind]
    const verdict = await rateLimiter.take(entry.sha256, limit, batch)
    Object.assign(headers, rateLimitHeaders(route.keyKind, limit, verdict))
    return verdict.isAllowed ? TAKEN : refuse(REFUSALS.tooFast(limit.perSecond))
  }

  /** One token was taken before the body was read. `part`: of the price, what is taken, or has to be there. */
  async function payRest(exchange: Exchange, key: CatalogKey, price: number, part = restOf) {
    const limit = key.project.config.rateLimits[exchange.route.keyKind]
    return price > 1 ? takeTokens(exchange, key, part(price, limit)) : TAKEN
  }

  /** Nobody knows before how long the answer to a read will be. */
  async function oweForRead(exchange: Exchange, key: CatalogKey, result: Result): Promise<Result> {
    if (result.outcome !== 'answered') return result
    const text = textOf(result)
    const tokens = owedForRead(Buffer.byteLength(text))
    if (tokens.owed > 0) await takeTokens(exchange, key, tokens)
    return { ...result, text }
  }

  async function permitFor(holder: string, request: IncomingMessage) {
    const permit = openBody(holder, !request.complete)
    if (permit) return permit
    // A body that came along with its headers has been parsed after this turn of the event loop.
    await nextTurn()
    return openBody(holder, !request.complete)
  }

  /** Counts a request as in flight only from here on: one whose body is still coming takes nobody's place. */
  async function handle(exchange: Exchange, key: CatalogKey, bytes?: Uint8Array, keyInBody?: string): Promise<Result> {
    if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
    inFlight += 1
    try {
      if (exchange.route.method !== 'GET') return await handleParsed(exchange, key, bytes, keyInBody)
      const result = await readInTurn(key.entry.sha256, () => handleParsed(exchange, key))
      return result === 'crowded' ? refuse(REFUSALS.busy) : result
    } finally {
      inFlight -= 1
    }
  }

  async function handleParsed(
    exchange: Exchange,
    key: CatalogKey,
    bytes?: Uint8Array,
    keyInBody?: string,
  ): Promise<Result> {
    const { route, parameters, request, headers, known, requestId, traceparent } = exchange
    const { parseBody = parseJson } = route
    const bodyBytes = bytes?.length ?? 0
    const mayPay = await payRest(exchange, key, leastPriceOf(bodyBytes), presenceOf)
    if (mayPay.outcome === 'refused') return mayPay
    const parsed = bytes ? parseBody(bytes) : NO_BODY
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    // It was found in the text, wherever it stood.
    if (keyInBody !== undefined && memberOf(parsed.body, 'writeKey') !== keyInBody) {
      delete known.key
      return refuse(REFUSALS.key)
    }
    known.body = parsed.body

    const idempotent = bytes
      ? idempotentRequestOf({
          key: request.headers['idempotency-key'],
          route: route.pattern,
          bytes: route.repeatedContent?.(parsed.body) ?? bytes,
          project: key.project,
          apiKey: key.entry,
        })
      : 'none'
    const ownId = typeof idempotent === 'object' ? idempotent.recordId : requestId
    headers['X-Request-Id'] = ownId
    // What a read has waited for its turn is a part of its time.
    const beganAt = bytes ? performance.now() : exchange.beganAt
    return route.handle({
      requestId: ownId,
      traceparent,
      receivedMs: Date.now(),
      deadlineAt: beganAt + requestBudgetMs,
      admissionDeadlineAt: beganAt + admissionBudgetMs(requestBudgetMs),
      key,
      project: key.project,
      callerAddress: () => callerAddress(request),
      body: parsed.body,
      header: (name) => [request.headers[name]].flat().at(0),
      pay: (items) => payRest(exchange, key, priceOf(bodyBytes, items)),
      onItemRefused: (refusal, item, body) => onRefused({ route, requestId: ownId, key, item, body }, refusal),
      idempotent,
      parameters,
    })
  }

  return checkAndHandle
}

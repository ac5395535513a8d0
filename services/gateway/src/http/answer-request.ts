import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { type JsonObject, memberOf, parseJson } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import { createPayments } from '../billing/payments.ts'
import type { RateLimiter } from '../billing/rate-limiter.ts'
import type { NoteRefusal } from '../refusals/kept-refusals.ts'
import { type BodyReaderOptions, createBodyReader } from './body-reader.ts'
import { admissionBudgetMs, turnWithinMs } from './budget.ts'
import type { CallerAddress } from './caller-address.ts'
import { createFindKey } from './find-key.ts'
import { idempotentRequestOf } from './idempotent-request.ts'
import { isKeyInBody, keyInHeaders, writeKeyIn } from './key-text.ts'
import { createRequestTurns, needsTurn } from './request-turns.ts'
import type { CheckedRequest, Route, RouteAnswer } from './route.ts'
import { traceParentOf } from './trace-parent.ts'
import { CORS_HEADERS, textOf, writeAnswer } from './write-answer.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const

export interface AnswerRequestParts extends BodyReaderOptions {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly requestBudgetMs: number
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

/** A request whose body has been read, if it has one. */
interface ReadRequest extends Exchange, Pick<CheckedRequest, 'key' | 'receivedMs' | 'deadlineAt'> {
  readonly bytes: Uint8Array | undefined
  readonly keyInBody: string | undefined
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
  const { catalog, requestBudgetMs, maxInFlight, callerAddress, onRefused } = parts
  const findKey = createFindKey(catalog)
  const withBody = createBodyReader(parts)
  const payments = createPayments(parts.rateLimiter)
  const inTurn = createRequestTurns({ withinMs: turnWithinMs(requestBudgetMs) })
  let inFlight = 0

  async function checkAndHandle(exchange: Exchange): Promise<Result> {
    const { route, request } = exchange
    if (isKeyInBody(route, request))
      return withBody(exchange, undefined, (bytes, permit) => handleKeyInBody(exchange, bytes, permit.moveTo))
    const checked = await checkKey(exchange, keyInHeaders(route, request))
    if (checked.outcome === 'refused') return checked
    const { key } = checked
    if (route.method === 'GET') return oweForRead(exchange, key, await handle(exchange, key))
    return withBody(exchange, key.entry.sha256, (bytes) => handle(exchange, key, bytes))
  }

  /** `moveTo`: makes the body a part of what its key holds. */
  async function handleKeyInBody(
    exchange: Exchange,
    bytes: Uint8Array,
    moveTo: (key: string) => boolean,
  ): Promise<Result> {
    const named = writeKeyIn(bytes)
    const checked = await checkKey(exchange, named)
    if (checked.outcome === 'refused') return checked
    const { key } = checked
    return moveTo(key.entry.sha256) ? handle(exchange, key, bytes, named) : refuse(REFUSALS.tooManyBytes)
  }

  /** The key, its kind, and its rate limit. */
  async function checkKey(exchange: Exchange, named: string | undefined) {
    const { keyKind } = exchange.route
    const key = named === undefined ? undefined : findKey(named)
    if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
    exchange.known.key = key
    if (key.entry.kind !== keyKind) return refuse(REFUSALS.kindOfKey(keyKind))
    const limited = await payments.first(key, exchange.headers)
    return limited.outcome === 'refused' ? limited : ({ outcome: 'known', key } as const)
  }

  /** The text of its answer says what a read costs, and is what is written. */
  async function oweForRead({ headers }: Exchange, key: CatalogKey, result: Result): Promise<Result> {
    if (result.outcome !== 'answered') return result
    const text = textOf(result)
    await payments.owe(key, headers, Buffer.byteLength(text))
    return { ...result, text }
  }

  /** Counts a request as in flight only from here on: one whose body is still coming takes nobody's place. */
  async function handle(exchange: Exchange, key: CatalogKey, bytes?: Uint8Array, keyInBody?: string): Promise<Result> {
    if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
    inFlight += 1
    try {
      // What either waits for its turn is a part of its time. The way of a body to this process is not.
      const deadlineAt = (bytes ? performance.now() : exchange.beganAt) + requestBudgetMs
      const read: ReadRequest = { ...exchange, key, deadlineAt, receivedMs: Date.now(), bytes, keyInBody }
      if (!needsTurn(exchange.route, bytes)) return await handleParsed(read)
      const mayWait = await mayPay(read)
      if (mayWait.outcome === 'refused') return mayWait
      return await inTurn({ request: exchange.request, keyHash: key.entry.sha256, bytes }, () => handleParsed(read))
    } finally {
      inFlight -= 1
    }
  }

  const mayPay = ({ key, headers, bytes }: ReadRequest) => payments.presence(key, headers, bytes?.length ?? 0)

  async function handleParsed(read: ReadRequest): Promise<Result> {
    const { key, deadlineAt, receivedMs, bytes, keyInBody, route, parameters, request, headers, known } = read
    const { parseBody = parseJson } = route
    const bodyBytes = bytes?.length ?? 0
    const mayParse = await mayPay(read)
    if (mayParse.outcome === 'refused') return mayParse
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
    const ownId = typeof idempotent === 'object' ? idempotent.recordId : read.requestId
    headers['X-Request-Id'] = ownId
    return route.handle({
      requestId: ownId,
      traceparent: read.traceparent,
      receivedMs,
      deadlineAt,
      admissionDeadlineAt: performance.now() + admissionBudgetMs(requestBudgetMs),
      key,
      project: key.project,
      callerAddress: () => callerAddress(request),
      body: parsed.body,
      header: (name) => [request.headers[name]].flat().at(0),
      pay: (items) => payments.rest(key, headers, bodyBytes, items),
      onItemRefused: (refusal, item, body) => onRefused({ route, requestId: ownId, key, item, body }, refusal),
      idempotent,
      parameters,
    })
  }

  return checkAndHandle
}

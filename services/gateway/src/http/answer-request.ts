import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { type JsonObject, memberOf, type ParsedJson, parseJson, type Rejection } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import { type Bill, createBill } from '../billing/bill.ts'
import type { RateLimiter } from '../billing/rate-limiter.ts'
import type { createKeptRefusals } from '../refusals/kept-refusals.ts'
import { admissionBudgetMs, turnWithinMs } from './request-budget.ts'
import type { createCallerAddress } from './caller-address.ts'
import { createFindKey, isKeyInBody, keyInHeaders, writeKeyIn } from './find-key.ts'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { yieldBetween } from './yield-between.ts'
import { type BodyReaderOptions, createBodyReader, type ReceivedBody } from './read-body.ts'
import type { Aborted, CheckedRequest, Handled, RefusedItem, Route } from './route.ts'
import { traceParentOf } from './trace-parent.ts'
import { createRequestTurns, needsTurn } from './turns-by-key.ts'
import { CORS_HEADERS, textOf, writeAnswer } from './write-answer.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const

export interface AnswerRequestParts extends BodyReaderOptions {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly requestBudgetMs: number
  readonly callerAddress: ReturnType<typeof createCallerAddress>
  /** Called for every answered request. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  /** Called for every refused request, and for every refused item of a batch. */
  readonly onRefused: ReturnType<typeof createKeptRefusals>['note']
  readonly logger: Logger
}

/** One request, as far as its checks came. Its refusal names the key and the body known by then. */
interface Progress {
  readonly route: Route
  readonly parameters: URLSearchParams
  readonly request: IncomingMessage
  /** A `performance.now()` instant. */
  readonly beganAt: number
  readonly traceparent: string
  /** Replaced by the id that a request with an `Idempotency-Key` shares with its repeats. */
  requestId: string
  key: CatalogKey | undefined
  /** The key, if it came in the body. */
  writeKey: string | undefined
  bill: Bill | undefined
  body: JsonObject | undefined
  /** Held until `release`, as is the place in flight. */
  received: ReceivedBody | undefined
  isInFlight: boolean
}

/** A request in flight: its key is known and within its rate limit, and its body has arrived. */
interface Arrived {
  readonly outcome: 'arrived'
  readonly progress: Progress
  readonly key: CatalogKey
  readonly bill: Bill
  /** Undefined for a route without a body. */
  readonly bytes: Uint8Array | undefined
  /** When the body had arrived, ms since the epoch. */
  readonly receivedMs: number
  readonly deadlineAt: number
}

/** Answers requests of known routes, after the checks that all routes share (decisions.md, Order of checks). */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { catalog, rateLimiter, requestBudgetMs, maxInFlight, callerAddress, onAnswered, onRefused, logger } = parts
  const findKey = createFindKey(catalog)
  const receiveBody = createBodyReader(parts)
  const inTurn = createRequestTurns(turnWithinMs(requestBudgetMs))
  let inFlight = 0

  /** Runs the checks in the order of `REFUSALS`: the key, the rate limit, the body, the place in flight, the turn. */
  async function checkAndHandle(progress: Progress): Promise<Handled | Aborted> {
    const { route, request } = progress
    // Without a key in the headers, the body names it and is read first.
    if (isKeyInBody(route, request)) {
      const read = await receiveBody(progress)
      if (read.outcome !== 'received') return read
      progress.received = read
    }
    const key = authenticate(progress)
    if ('outcome' in key) return key
    const { sha256 } = key.entry

    const bill = (progress.bill = createBill(rateLimiter, key))
    const tooFast = await bill.enter()
    if (tooFast) return tooFast

    if (progress.received && !progress.received.moveTo(sha256)) return refuse(REFUSALS.tooManyBytes)
    if (!progress.received && route.method === 'POST') {
      const read = await receiveBody(progress, sha256)
      if (read.outcome !== 'received') return read
      progress.received = read
    }
    const arrived = enterFlight(progress, key, bill)
    if (arrived.outcome === 'refused') return arrived
    const { bytes } = arrived

    if (!needsTurn(route, bytes)) return parseAndHandle(arrived)
    const mayNotWait = await bill.mayParse(bytes?.length ?? 0)
    if (mayNotWait) return mayNotWait
    const handled = await inTurn(request, sha256, bytes, () => parseAndHandle(arrived))
    if (route.method === 'POST' || handled.outcome !== 'answered') return handled
    // A read pays by the length of its answer, and is no longer in flight then.
    release(progress)
    const text = textOf(handled)
    await bill.oweFor(Buffer.byteLength(text))
    return { ...handled, text }
  }

  /** Finds the key in the body, if it was read first, or in the headers. */
  function authenticate(progress: Progress): CatalogKey | Refusal {
    const { route, request, received } = progress
    if (received) progress.writeKey = writeKeyIn(received.bytes)
    const keyText = received ? progress.writeKey : keyInHeaders(route, request)
    const key = keyText === undefined ? undefined : findKey(keyText)
    if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
    progress.key = key
    return key.entry.kind === route.keyKind ? key : refuse(REFUSALS.kindOfKey(route.keyKind))
  }

  /** Takes a place among the requests in flight. A request whose body still arrives takes none. */
  function enterFlight(progress: Progress, key: CatalogKey, bill: Bill): Arrived | Refusal {
    if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
    inFlight += 1
    progress.isInFlight = true
    const bytes = progress.received?.bytes
    // The budget includes the wait for a turn, but not the time in which the body arrived.
    const deadlineAt = (bytes ? performance.now() : progress.beganAt) + requestBudgetMs
    return { outcome: 'arrived', progress, key, bill, bytes, receivedMs: Date.now(), deadlineAt }
  }

  /** Parses the body, takes the price of its items, and answers. */
  async function parseAndHandle(arrived: Arrived): Promise<Handled> {
    const { progress, bill, bytes } = arrived
    const { route } = progress
    const bodyBytes = bytes?.length ?? 0
    const tooLarge = await bill.mayParse(bodyBytes)
    if (tooLarge) return tooLarge
    const parsed = parseBody(arrived)
    if (parsed.outcome === 'refused') return parsed
    const checked = checkedRequestOf(arrived, parsed.body)
    const items = route.itemsOf?.(checked) ?? [checked.body]
    if ('outcome' in items) return items
    const tooCostly = await bill.payFor(items, bodyBytes)
    if (tooCostly) return tooCostly
    const handled = await route.handle(checked, items)
    if (handled.refusedItems) await noteRefusedItems(arrived, handled.refusedItems)
    return handled
  }

  function checkedRequestOf({ progress, key, bytes, receivedMs, deadlineAt }: Arrived, body: JsonObject) {
    const { route, request, traceparent, parameters } = progress
    const content = bytes && {
      key: request.headers['idempotency-key'],
      route: route.pattern,
      bytes: route.repeatedContent?.(body) ?? bytes,
    }
    const idempotency = content ? idempotentRequestOf(key, content) : 'none'
    if (typeof idempotency === 'object') progress.requestId = idempotency.recordId
    return {
      requestId: progress.requestId,
      traceparent,
      receivedMs,
      deadlineAt,
      admissionDeadlineAt: performance.now() + admissionBudgetMs(requestBudgetMs),
      key,
      project: key.project,
      callerAddress: () => callerAddress(request),
      body,
      header: (name) => [request.headers[name]].flat().at(0),
      idempotency,
      parameters,
    } satisfies CheckedRequest
  }

  function noteRefusedItems({ progress, key }: Arrived, items: readonly RefusedItem[]): Promise<unknown> {
    const { route, requestId } = progress
    return yieldBetween(items, ({ refusal, item, body }) => onRefused({ route, requestId, key, item, body }, refusal))
  }

  /** Gives back the place in flight and the memory of the body. */
  function release(progress: Progress): void {
    if (progress.isInFlight) inFlight -= 1
    progress.isInFlight = false
    progress.received?.release()
    progress.received = undefined
  }

  /** Writes the answer, and counts, logs and notes it. */
  function finish(progress: Progress, response: ServerResponse, result: Handled): void {
    const { route, requestId, traceparent, key, bill, body } = progress
    const headers = { 'X-Request-Id': requestId, ...(route.keyKind === 'sdk' && CORS_HEADERS), ...bill?.headers() }
    const isWritten = writeAnswer(response, result, headers)
    const durationMs = performance.now() - progress.beganAt
    onAnswered(route, result.status, durationMs)
    logger.debug({ requestId, traceparent, route: route.pattern, status: result.status, durationMs }, 'Answered')
    if (result.outcome === 'refused') onRefused({ route, requestId, ...(key && { key }), body }, result)
    else if (isWritten) void route.afterwards?.(result, traceparent)
  }

  return async (
    route: Route,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const progress = begin(route, parameters, request)
    try {
      const result = await checkAndHandle(progress).finally(() => release(progress))
      if (result.outcome !== 'aborted') finish(progress, response, result)
    } catch (err) {
      const { requestId, traceparent } = progress
      logger.error({ err, requestId, traceparent, route: route.pattern }, 'A request failed')
      finish(progress, response, refuse(REFUSALS.broken))
    }
  }
}

function begin(route: Route, parameters: URLSearchParams, request: IncomingMessage): Progress {
  const requestId = randomUUIDv7()
  return {
    route,
    parameters,
    request,
    beganAt: performance.now(),
    traceparent: traceParentOf(request.headers['traceparent'], requestId),
    requestId,
    key: undefined,
    writeKey: undefined,
    bill: undefined,
    body: undefined,
    received: undefined,
    isInFlight: false,
  }
}

function parseBody({ progress, bytes }: Arrived): Exclude<ParsedJson, Rejection> | Refusal {
  const parsed = bytes ? (progress.route.parseBody ?? parseJson)(bytes) : NO_BODY
  if (parsed.outcome === 'rejected') return refuseBody(parsed)
  // The key's text was found, but perhaps in another member.
  if (progress.writeKey !== undefined && memberOf(parsed.body, 'writeKey') !== progress.writeKey) {
    progress.key = undefined
    return refuse(REFUSALS.key)
  }
  progress.body = parsed.body
  return parsed
}

import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey } from '@nextvisit/catalog'
import { type Logger, traceFields, type Tracing } from '@nextvisit/service-kit'
import { type Bill, createBill } from '../billing/bill.ts'
import type { RateLimiter } from '../billing/rate-limiter.ts'
import type { createKeptRefusals } from '../refusals/kept-refusals.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { type CheckRequestParts, createRequestChecks, type RequestState } from './check-request.ts'
import { turnWithinMs } from './request-budget.ts'
import type { Aborted, Handled, Route } from './route.ts'
import { traceOf } from './trace-parent.ts'
import type { Sample } from './trace-sampler.ts'
import { recordServerSpan } from './record-server-span.ts'
import { createRequestTurns, needsTurn } from './turns/turns-by-key.ts'
import { CORS_HEADERS, textOf, writeAnswer } from './answer/write-answer.ts'
import { yieldBetween } from './turns/yield-between.ts'

export interface AnswerRequestParts extends CheckRequestParts {
  readonly rateLimiter: RateLimiter
  /** Called for every answered request. */
  readonly onAnswered: (route: Route, status: number, durationMs: number, traceparent: string) => void
  /** Called for every refused request, and for every refused item of a batch. */
  readonly onRefused: ReturnType<typeof createKeptRefusals>['note']
  /** Decides which requests with a valid key are sampled. Absent: none. */
  readonly sample?: Sample | undefined
  readonly tracing?: Tracing | undefined
  readonly logger: Logger
}

/** Answers requests of known routes, after the checks that all routes share (decisions.md, Order of checks). */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { rateLimiter, requestBudgetMs, maxInFlight, onAnswered, onRefused, sample, tracing, logger } = parts
  const checks = createRequestChecks(parts)
  const inTurn = createRequestTurns(turnWithinMs(requestBudgetMs))
  let inFlight = 0

  /** Runs the checks in the order of `REFUSALS`: the key, the rate limit, the body, the place in flight, the turn. */
  async function checkAndHandle(state: RequestState): Promise<Handled | Aborted> {
    const key = await checks.authenticate(state)
    if ('outcome' in key) return key
    // Only now: requests without a key take no room of others' traces.
    if (sample) state.trace = traceOf(state.request.headers['traceparent'], state.requestId, sample)
    const bill = createBill(rateLimiter, key, state.route.maxItems)
    state.bill = bill
    const tooFast = await bill.enter()
    if (tooFast) return tooFast
    const answered = await receiveAndHandle(state, key, bill)
    release(state)
    await bill.payForReading(state.readBytes)
    return answered
  }

  /** Answers a request that has paid its first token. */
  async function receiveAndHandle(state: RequestState, key: CatalogKey, bill: Bill): Promise<Handled | Aborted> {
    const { route, request } = state
    const ended = await checks.receiveBody(state, key)
    if (ended) return ended
    if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
    enterFlight(state)

    const bytes = state.received?.bytes
    if (!needsTurn(bytes)) return parseAndHandle(state, key, bill)
    // A request that its key cannot pay for waits for no turn.
    const tooCostly = await bill.mayPayFor(bytes?.length ?? 0)
    if (tooCostly) return tooCostly
    const handled = await inTurn(request, key.entry.sha256, bytes, () => parseAndHandle(state, key, bill))
    if (route.method === 'POST' || handled.outcome !== 'answered') return handled
    // The length of a read's answer is its price. The request is no longer in flight while it pays.
    release(state)
    const text = textOf(handled)
    await bill.payForAnswer(Buffer.byteLength(text))
    return { ...handled, text }
  }

  /** Takes a place in flight. A request whose body still arrives takes none. */
  function enterFlight(state: RequestState): void {
    inFlight += 1
    state.isInFlight = true
    state.receivedMs = Date.now()
    if (state.received) state.deadlineAt = performance.now() + requestBudgetMs
  }

  /** Takes the price of the body, parses it, and answers. */
  async function parseAndHandle(state: RequestState, key: CatalogKey, bill: Bill): Promise<Handled> {
    const { route, received } = state
    const tooCostly = received && (await bill.payForBody(received.bytes))
    if (tooCostly) return tooCostly
    const checked = checks.parse(state, key)
    if ('outcome' in checked) return checked
    const items = route.itemsOf?.(checked) ?? [checked.body]
    if ('outcome' in items) return items
    const handled = await route.handle(checked, items)
    const { requestId } = state
    await yieldBetween(handled.refusedItems ?? [], ({ refusal, item, body }) =>
      onRefused({ route, requestId, key, item, body }, refusal),
    )
    return handled
  }

  /** Gives back the place in flight and the memory of the body. */
  function release(state: RequestState): void {
    if (state.isInFlight) inFlight -= 1
    state.isInFlight = false
    state.received?.release()
    state.received = undefined
  }

  /** Writes the answer, and counts, logs and notes it. */
  function finish(state: RequestState, response: ServerResponse, result: Handled): void {
    const { route, requestId, key, bill, body } = state
    const { traceparent } = state.trace
    const headers = { 'X-Request-Id': requestId, ...(route.keyKind === 'sdk' && CORS_HEADERS), ...bill?.headers() }
    const isWritten = writeAnswer(response, result, headers)
    const durationMs = performance.now() - state.beganAt
    recordSpan(state, result.status)
    onAnswered(route, result.status, durationMs, traceparent)
    logger.debug(
      { requestId, traceparent, ...traceFields(traceparent), route: route.pattern, status: result.status, durationMs },
      'Answered',
    )
    if (result.outcome === 'refused') onRefused({ route, requestId, ...(key && { key }), body }, result)
    else if (isWritten) void route.afterwards?.(result, traceparent)
  }

  /** `status`: absent if the caller has left. */
  function recordSpan(state: RequestState, status?: number): void {
    if (tracing) recordServerSpan(tracing, state, status)
  }

  function begin(route: Route, parameters: URLSearchParams, request: IncomingMessage): RequestState {
    const requestId = randomUUIDv7()
    const beganAt = performance.now()
    return {
      route,
      parameters,
      request,
      beganAt,
      trace: traceOf(request.headers['traceparent'], requestId),
      requestId,
      receivedMs: Date.now(),
      deadlineAt: beganAt + requestBudgetMs,
      key: undefined,
      writeKey: undefined,
      bill: undefined,
      received: undefined,
      readBytes: 0,
      isInFlight: false,
      body: undefined,
    }
  }

  return async (
    route: Route,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const state = begin(route, parameters, request)
    try {
      const result = await checkAndHandle(state).finally(() => release(state))
      if (result.outcome === 'aborted') recordSpan(state)
      else finish(state, response, result)
    } catch (err) {
      const { requestId } = state
      const { traceparent } = state.trace
      const fields = { err, requestId, traceparent, ...traceFields(traceparent), route: route.pattern }
      logger.error(fields, 'A request failed')
      finish(state, response, refuse(REFUSALS.broken))
    }
  }
}

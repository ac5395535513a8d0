import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { type JsonObject, memberOf, parseJson } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import { type Bill, createBill } from '../billing/bill.ts'
import type { RateLimiter } from '../billing/rate-limiter.ts'
import type { NoteRefusal } from '../refusals/kept-refusals.ts'
import { admissionBudgetMs, turnWithinMs } from './budget.ts'
import type { CallerAddress } from './caller-address.ts'
import { createFindKey, isKeyInBody, keyInHeaders, writeKeyIn } from './find-key.ts'
import { idempotentRequestOf } from './idempotent-request.ts'
import { inTurns } from './in-turns.ts'
import { type BodyReaderOptions, createBodyReader, type ReceivedBody } from './read-body.ts'
import type { Aborted, CheckedRequest, Handled, Items, Route } from './route.ts'
import { traceParentOf } from './trace-parent.ts'
import { createRequestTurns, needsTurn } from './turns-by-key.ts'
import { CORS_HEADERS, textOf, writeAnswer } from './write-answer.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const
const bodyAsItem = ({ body }: CheckedRequest): Items => ({ outcome: 'ok', items: [body] })

export interface AnswerRequestParts extends BodyReaderOptions {
  readonly catalog: CatalogView
  readonly rateLimiter: RateLimiter
  readonly requestBudgetMs: number
  readonly callerAddress: CallerAddress
  /** Called for every answered request. */
  readonly onAnswered: (route: Route, status: number, durationMs: number) => void
  /** Called for every refused request, and for every refused item of a batch. */
  readonly onRefused: NoteRefusal
  readonly logger: Logger
}

export type AnswerRequest = ReturnType<typeof createAnswerRequest>

/** Answers requests of known routes, after the checks that all routes share (decisions.md, Order of checks). */
export function createAnswerRequest(parts: AnswerRequestParts) {
  const { catalog, rateLimiter, requestBudgetMs, maxInFlight, callerAddress, onAnswered, onRefused, logger } = parts
  const findKey = createFindKey(catalog)
  const receiveBody = createBodyReader(parts)
  const inTurn = createRequestTurns(turnWithinMs(requestBudgetMs))
  let inFlight = 0

  return async (
    route: Route,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const beganAt = performance.now()
    let requestId: string = randomUUIDv7()
    const traceparent = traceParentOf(request.headers['traceparent'], requestId)
    // As far as the checks came: a refusal names them, too.
    let key: CatalogKey | undefined
    let bill: Bill | undefined
    let body: JsonObject | undefined
    // Given back at the end.
    let received: ReceivedBody | undefined
    let isInFlight = false

    const checkAndHandle = async (): Promise<Handled | Aborted> => {
      // The key. Without one in the headers, the body names it and is read first.
      const isInBody = isKeyInBody(route, request)
      if (isInBody) {
        const read = await receiveBody({ route, request, beganAt })
        if (read.outcome !== 'received') return read
        received = read
      }
      const keyText = received ? writeKeyIn(received.bytes) : keyInHeaders(route, request)
      const found = keyText === undefined ? undefined : findKey(keyText)
      if (!found) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
      key = found
      const { project, entry } = found
      if (entry.kind !== route.keyKind) return refuse(REFUSALS.kindOfKey(route.keyKind))

      // The rate limit.
      const opened = createBill(rateLimiter, found)
      bill = opened
      const tooFast = await opened.enter()
      if (tooFast) return tooFast

      // The body.
      if (received && !received.moveTo(entry.sha256)) return refuse(REFUSALS.tooManyBytes)
      if (!received && route.method === 'POST') {
        const read = await receiveBody({ route, request, beganAt }, entry.sha256)
        if (read.outcome !== 'received') return read
        received = read
      }
      const bytes = received?.bytes
      const bodyBytes = bytes?.length ?? 0

      // The place among requests in flight. A request whose body still arrives takes none.
      if (inFlight >= maxInFlight) return refuse(REFUSALS.busy)
      inFlight += 1
      isInFlight = true
      const receivedMs = Date.now()
      // The budget includes the wait for a turn, but not the time in which the body arrived.
      const deadlineAt = (bytes ? performance.now() : beganAt) + requestBudgetMs

      const parseAndHandle = async (): Promise<Handled> => {
        const tooLarge = await opened.mayParse(bodyBytes)
        if (tooLarge) return tooLarge
        const parsed = bytes ? (route.parseBody ?? parseJson)(bytes) : NO_BODY
        if (parsed.outcome === 'rejected') return refuseBody(parsed)
        // The key's text was found, but perhaps in another member.
        if (isInBody && memberOf(parsed.body, 'writeKey') !== keyText) {
          key = undefined
          return refuse(REFUSALS.key)
        }
        body = parsed.body
        const content = bytes && (route.repeatedContent?.(parsed.body) ?? bytes)
        const idempotencyKey = request.headers['idempotency-key']
        const idempotency =
          content === undefined
            ? 'none'
            : idempotentRequestOf({ key: idempotencyKey, route: route.pattern, bytes: content, project, apiKey: entry })
        if (typeof idempotency === 'object') requestId = idempotency.recordId
        const checked: CheckedRequest = {
          requestId,
          traceparent,
          receivedMs,
          deadlineAt,
          admissionDeadlineAt: performance.now() + admissionBudgetMs(requestBudgetMs),
          key: found,
          project,
          callerAddress: () => callerAddress(request),
          body: parsed.body,
          header: (name) => [request.headers[name]].flat().at(0),
          idempotency,
          parameters,
        }
        const paid = (route.itemsOf ?? bodyAsItem)(checked)
        if (paid.outcome === 'refused') return paid
        const tooCostly = await opened.payFor(paid.items, bodyBytes)
        if (tooCostly) return tooCostly
        const handled = await route.handle(checked, paid.items)
        const { refusedItems } = handled
        if (refusedItems)
          await inTurns(refusedItems, ({ refusal, item, body: sent }) =>
            onRefused({ route, requestId, key: found, item, body: sent }, refusal),
          )
        return handled
      }

      if (!needsTurn(route, bytes)) return parseAndHandle()
      const mayNotWait = await opened.mayParse(bodyBytes)
      if (mayNotWait) return mayNotWait
      const handled = await inTurn(request, entry.sha256, bytes, parseAndHandle)
      if (route.method === 'POST' || handled.outcome !== 'answered') return handled

      // A read pays by the length of its answer.
      const text = textOf(handled)
      await opened.oweFor(Buffer.byteLength(text))
      return { ...handled, text }
    }

    const release = () => {
      if (isInFlight) inFlight -= 1
      received?.release()
    }
    const finish = (result: Handled) => {
      const headers = { 'X-Request-Id': requestId, ...(route.keyKind === 'sdk' && CORS_HEADERS), ...bill?.headers() }
      const isWritten = writeAnswer(response, result, headers)
      const durationMs = performance.now() - beganAt
      onAnswered(route, result.status, durationMs)
      logger.debug({ requestId, traceparent, route: route.pattern, status: result.status, durationMs }, 'Answered')
      if (result.outcome === 'refused') onRefused({ route, requestId, ...(key && { key }), body }, result)
      else if (isWritten) void route.afterwards?.(result, traceparent)
    }
    try {
      const result = await checkAndHandle().finally(release)
      if (result.outcome !== 'aborted') finish(result)
    } catch (err) {
      logger.error({ err, requestId, traceparent, route: route.pattern }, 'A request failed')
      finish(refuse(REFUSALS.broken))
    }
  }
}

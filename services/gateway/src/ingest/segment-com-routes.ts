import { hash } from 'node:crypto'
import { ROUTES } from '@nextvisit/contracts'
import {
  inSegmentComWords,
  memberIn,
  memberOf,
  parseSegmentComBatch,
  parseSegmentComMessage,
  parsePythonJson,
  SEGMENT_COM_LIMITS,
} from '@nextvisit/domain'
import { answer, type CheckedRequest, type Result, type Route } from '../http/route.ts'
import { yieldBetween } from '../http/turns/yield-between.ts'
import { isIdempotencyKey } from '../idempotency/idempotent-request.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import type { RequestedItem } from './plan-batch.ts'
import { isRetryable, itemOf, type RecordMany, refusedItemsOf } from './record-many.ts'
import type { RecordKind } from './stages.ts'

interface SegmentComRoutesParts {
  readonly recordMany: RecordMany
  readonly identify: RecordKind
  readonly track: RecordKind
  /** Counts accepted messages and trait values that are not recorded. */
  readonly onLeftOut: (reason: 'anonymous' | 'type' | 'trait', count: number) => void
}

/** Routes of single messages, by the `type` of the message. */
const ROUTE_OF_TYPE = {
  identify: ROUTES.segmentIdentify,
  track: ROUTES.segmentTrack,
  page: ROUTES.segmentPage,
  screen: ROUTES.segmentScreen,
  group: ROUTES.segmentGroup,
  alias: ROUTES.segmentAlias,
} as const
/** Messages about the `Idempotency-Key`, which a message has as its `messageId`. */
const KEY_MESSAGES: ReadonlyMap<string | undefined, string> = new Map([
  [REFUSALS.stillRunning.reason, 'A message with this messageId is still being recorded: try again'],
  [REFUSALS.keyOfAnother.reason, 'messageId was used with another message: choose a new one'],
])
/** The result of a message that leaves no record. */
const NOTHING_RECORDED = answer(200, {})
/** Maximum number of refused messages in the answer to a strict caller. */
const MAX_NAMED = 10

/** Creates the routes for Segment's libraries (decisions.md, Segment's API). */
export function createSegmentComRoutes(given: SegmentComRoutesParts): readonly Route[] {
  // Libraries ignore the number of queued forms, so nothing waits for the evaluator.
  const parts = { ...given, track: { ...given.track, mayReact: () => false } }

  const recordAs =
    (type?: string): Route['handle'] =>
    async (request, messages) => {
      const items = await yieldBetween(messages, (message) => itemOfMessage(parts, request, type, message))
      const results = (await parts.recordMany(items)).map(inWordsOfSegmentCom)
      return { ...answerOf(request, messages, results), refusedItems: refusedItemsOf(results, messages) }
    }

  const ofOneMessage = Object.entries(ROUTE_OF_TYPE).map(([type, signature]) => ({
    ...signature,
    parseBody: parsePythonJson,
    handle: recordAs(type),
  }))
  return [
    ...ofOneMessage,
    {
      ...ROUTES.segmentBatch,
      parseBody: parsePythonJson,
      maxItems: SEGMENT_COM_LIMITS.batchMessages,
      itemsOf: ({ body }) => {
        const parsed = parseSegmentComBatch(body)
        return parsed.outcome === 'rejected' ? refuseBody(parsed) : parsed.items
      },
      handle: recordAs(),
    },
  ]
}

/** Turns a message into an item (decisions.md, Segment's API). `type`: the route's; undefined: the message's own. */
function itemOfMessage(
  { identify, track, onLeftOut }: SegmentComRoutesParts,
  request: CheckedRequest,
  type: string | undefined,
  message: unknown,
): RequestedItem | Result {
  const sentAt = memberIn(message, 'sentAt') ?? memberIn(request.body, 'sentAt')
  const clock = { sentAt, receivedMs: request.receivedMs }
  const parsed = parseSegmentComMessage(message, type ?? memberIn(message, 'type'), clock, request.project)
  if (parsed.outcome === 'rejected') return refuseBody(parsed)
  if (parsed.outcome === 'ignored') {
    onLeftOut(parsed.reason, 1)
    return NOTHING_RECORDED
  }
  const content = { key: keyOfMessage(message), route: ROUTES.segmentBatch.pattern, bytes: parsed.content }
  const ofMessage = { ...content, suffix: 'message' }
  if (parsed.outcome === 'identify') {
    onLeftOut('trait', parsed.droppedTraits)
    return itemOf(request, identify, parsed.identify, ofMessage)
  }
  const userName = memberOf(parsed.track, 'userName')
  const createUsers = request.project.config.segment?.createUsers ?? true
  if (!createUsers || typeof userName !== 'string') return itemOf(request, track, parsed.track, ofMessage)
  const createUser = () => itemOf(request, identify, parsed.identify, { ...content, suffix: 'user' })
  return itemOf(request, track, parsed.track, ofMessage, createUser)
}

/** Returns a message's `Idempotency-Key`. Some libraries send ids of another form, which are hashed. */
function keyOfMessage(message: unknown): string | undefined {
  const messageId = memberIn(message, 'messageId')
  if (typeof messageId === 'number') return String(messageId)
  if (typeof messageId !== 'string' || messageId === '') return undefined
  return isIdempotencyKey(messageId) ? messageId : hash('sha256', messageId)
}

/**
 * Returns the answer to a request. A library drops all messages on a 4xx, and sends all again on a 503. So a refused
 * message fails no other, and the answer is 503 only if no recorded message could be recorded twice.
 */
function answerOf(request: CheckedRequest, messages: readonly unknown[], results: readonly Result[]): Result {
  const mustRepeat = results.some(isRetryable)
  const isRepeatable = results.every((result, index) => {
    const isRecorded = result.outcome === 'answered' && result !== NOTHING_RECORDED
    return !isRecorded || keyOfMessage(messages[index]) !== undefined
  })
  // The request has no rule of its own: each message was refused by one.
  const { status, message } = REFUSALS.notRecorded
  if (mustRepeat && isRepeatable) return refuse({ status, message })
  const rejected = results.flatMap((result, index) =>
    result.outcome === 'refused' ? [rejectedMessage(result, messages[index], index)] : [],
  )
  const isStrict = request.header('x-strict-mode') === '1'
  if (isStrict && rejected.length > 0) return refuse({ status: 400, message: strictMessage(rejected) })
  return answer(200, { success: true, rejected })
}

function strictMessage(rejected: readonly { readonly index: number; readonly message: string }[]): string {
  const named = rejected.slice(0, MAX_NAMED).map(({ index, message }) => `message ${index}: ${message}`)
  const more = rejected.length > MAX_NAMED ? [`${rejected.length - MAX_NAMED} more`] : []
  return `Refused: ${[...named, ...more].join('; ')}`
}

/** Returns a result with Segment's words in its message, for the answer and the list of refusals. */
function inWordsOfSegmentCom(result: Result): Result {
  if (result.outcome === 'answered') return result
  const message = KEY_MESSAGES.get(result.reason)
  return message === undefined ? inSegmentComWords(result) : { ...result, message }
}

function rejectedMessage({ status, message }: Refusal, given: unknown, index: number) {
  const messageId = memberIn(given, 'messageId')
  return { index, ...(typeof messageId === 'string' && { messageId }), status, message }
}

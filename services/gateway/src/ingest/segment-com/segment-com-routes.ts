import { ROUTES } from '@nextvisit/contracts'
import { inSegmentComWords, memberIn, parseSegmentComBatch, parseUncheckedJson } from '@nextvisit/domain'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../../refusals/refusals.ts'
import { yieldBetween } from '../../http/yield-between.ts'
import { answer, type CheckedRequest, type Route, type Result } from '../../http/route.ts'
import { isRetryable, type RecordMany, refusedItemsOf } from '../record-many.ts'

import { itemOfMessage, keyOfMessage, NOTHING_RECORDED, type SegmentItemParts } from './segment-items.ts'

interface SegmentRoutesParts extends SegmentItemParts {
  readonly recordMany: RecordMany
}

interface RejectedMessage {
  /** Position in the batch. */
  readonly index: number
  readonly messageId?: string
  readonly status: number
  readonly message: string
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
/** Maximum number of refused messages in the answer to a strict caller. */
const MAX_NAMED = 10

/** Creates the routes for Segment's libraries (decisions.md, Segment's API). */
export function createSegmentComRoutes({ recordMany, track, ...parts }: SegmentRoutesParts): readonly Route[] {
  // Libraries ignore the number of queued forms, so nothing waits for the evaluator.
  const itemParts = { ...parts, track: { ...track, mayReact: () => false } }

  const recordAs =
    (type?: string): Route['handle'] =>
    async (request, messages) => {
      const items = await yieldBetween(messages, (message) => itemOfMessage(itemParts, request, type, message))
      const results = await recordMany(items)
      return { ...answerOf(request, messages, results), refusedItems: refusedItemsOf(results, messages) }
    }

  const ofOneMessage = Object.entries(ROUTE_OF_TYPE).map(([type, signature]) => ({
    ...signature,
    parseBody: parseUncheckedJson,
    handle: recordAs(type),
  }))
  return [
    ...ofOneMessage,
    {
      ...ROUTES.segmentBatch,
      parseBody: parseUncheckedJson,
      itemsOf: ({ body }) => {
        const parsed = parseSegmentComBatch(body)
        return parsed.outcome === 'rejected' ? refuseBody(parsed) : parsed
      },
      handle: recordAs(),
    },
  ]
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

function strictMessage(rejected: readonly RejectedMessage[]): string {
  const named = rejected.slice(0, MAX_NAMED).map(({ index, message }) => `message ${index}: ${message}`)
  const more = rejected.length > MAX_NAMED ? [`${rejected.length - MAX_NAMED} more`] : []
  return `Refused: ${[...named, ...more].join('; ')}`
}

function rejectedMessage({ status, message }: Refusal, given: unknown, index: number): RejectedMessage {
  const messageId = memberIn(given, 'messageId')
  return { index, ...(typeof messageId === 'string' && { messageId }), status, message: inSegmentComWords(message) }
}

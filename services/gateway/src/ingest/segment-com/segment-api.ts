import { ROUTES } from '@nextvisit/contracts'
import { inSegmentComWords, memberIn, parseSegmentComBatch, parseUncheckedJson } from '@nextvisit/domain'
import { type Answer, answer } from '../../api/answer.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../../api/refusals.ts'
import type { CheckedRequest, Handled, Route } from '../../http/route.ts'
import { createPrepare, isRetryable, recordItems, type RecordItemsParts, refusedItemsOf } from '../record-items.ts'
import { createPrepareSegmentItem, keyOfMessage, NOTHING_RECORDED, type SegmentItemParts } from './segment-item.ts'

type SegmentApiParts = RecordItemsParts & Omit<SegmentItemParts, 'prepare'>

interface RejectedMessage {
  /** The position in the batch. */
  readonly index: number
  readonly messageId?: string
  readonly status: number
  readonly message: string
}

/** Of one message, in place of its own `type`. */
const TYPES = {
  identify: ROUTES.segmentIdentify,
  track: ROUTES.segmentTrack,
  page: ROUTES.segmentPage,
  screen: ROUTES.segmentScreen,
  group: ROUTES.segmentGroup,
  alias: ROUTES.segmentAlias,
} as const
/** How many refused messages are named to a strict caller. */
const MAX_NAMED = 10

/** Segment's HTTP API, so that its libraries work with another host (decisions.md, Segment's API). */
export function createSegmentApi(parts: SegmentApiParts): readonly Route[] {
  // Nobody reads how many forms an event queued, so nothing waits for the evaluator.
  const prepare = createPrepare({ ...parts, track: { ...parts.track, mayReact: () => false } })

  async function record(request: CheckedRequest, messages: readonly unknown[], type?: string): Promise<Handled> {
    const results = await recordItems(messages, createPrepareSegmentItem({ ...parts, prepare }, request, type))
    const whole = answerOf(messages, results, request.header('x-strict-mode') === '1')
    return { ...whole, refusedItems: refusedItemsOf(results, messages) }
  }

  const ofOneMessage = Object.entries(TYPES).map(([type, signature]) => ({
    ...signature,
    parseBody: parseUncheckedJson,
    handle: (request: CheckedRequest, messages: readonly unknown[]) => record(request, messages, type),
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
      handle: (request, messages) => record(request, messages),
    },
  ]
}

/**
 * A library drops all messages of a request on a 4xx, and sends all again on a 503. So a message that is refused fails none
 * of the others, and the whole is answered 503 only if no message that was recorded could be recorded twice.
 */
function answerOf(
  messages: readonly unknown[],
  results: readonly (Answer | Refusal)[],
  isStrict: boolean,
): Answer | Refusal {
  const mustRepeat = results.some(isRetryable)
  const isRepeatable = results.every((result, index) => {
    const isRecorded = result.outcome === 'answered' && result !== NOTHING_RECORDED
    return !isRecorded || keyOfMessage(messages[index]) !== undefined
  })
  // Neither of these two has a rule: each message was refused by its own.
  const { status, message } = REFUSALS.notRecorded
  if (mustRepeat && isRepeatable) return refuse({ status, message })
  const rejected = results.flatMap((result, index) =>
    result.outcome === 'refused' ? [rejectedMessage(result, messages[index], index)] : [],
  )
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

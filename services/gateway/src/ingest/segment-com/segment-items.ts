import { hash } from 'node:crypto'
import { ROUTES } from '@nextvisit/contracts'
import { memberIn, memberOf, parseSegmentComMessage } from '@nextvisit/domain'
import { refuseBody } from '../../refusals/refusals.ts'
import { isIdempotencyKey } from '../../idempotency/idempotent-request.ts'
import { answer, type CheckedRequest, type Result } from '../../http/route.ts'
import type { ItemToPlan } from '../plan-batch.ts'
import { itemOf } from '../record-many.ts'
import type { Kind } from '../stages.ts'

export interface SegmentItemParts {
  readonly identify: Kind
  readonly track: Kind
  /** Counts accepted messages and trait values that are not recorded. */
  readonly onLeftOut: (reason: 'anonymous' | 'type' | 'trait', count: number) => void
}

/** The result of a message that leaves no record. */
export const NOTHING_RECORDED = answer(200, {})

/** Turns a message into an item (decisions.md, Segment's API). `type`: the route's; undefined: the message's own. */
export function itemOfMessage(
  { identify, track, onLeftOut }: SegmentItemParts,
  request: CheckedRequest,
  type: string | undefined,
  message: unknown,
): ItemToPlan | Result {
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
  const createItem = () => itemOf(request, identify, parsed.identify, { ...content, suffix: 'user' })
  return itemOf(request, track, parsed.track, ofMessage, { request, userName, createItem })
}

/** Returns a message's `Idempotency-Key`. Some libraries send ids of another form, which are hashed. */
export function keyOfMessage(message: unknown): string | undefined {
  const messageId = memberIn(message, 'messageId')
  if (typeof messageId === 'number') return String(messageId)
  if (typeof messageId !== 'string' || messageId === '') return undefined
  return isIdempotencyKey(messageId) ? messageId : hash('sha256', messageId)
}

import { erasedUserOf, type FoldContext, type Projection, type Recorded } from '@nextvisit/consumer'
import { type AnyFormFact, SealedFormFact, TOPICS } from '@nextvisit/contracts'
import { capturedMembersOf, thinPayloadOf } from '@nextvisit/domain'
import type { ZodType } from 'zod'
import { type Draft, type LiveStream, placeKeyOf } from './draft.ts'
import { wants } from './endpoints.ts'
import type { HeardEvent, Listeners } from './listeners.ts'
import { loadDraft } from './load-draft.ts'
import { deliveryOf } from './new-deliveries.ts'
import { saveDraft } from './save-draft.ts'
import { createReview } from './ticks/review.ts'
import { createTicks } from './ticks/ticks.ts'

/**
 * Creates the projection of deliveries. A batch writes those of live endpoints; ticks write those of endpoints that are behind, and of
 * replays (decision 20).
 */
export function createProjection(
  listeners: Pick<Listeners, 'isHeard' | 'hear'> = NOBODY,
): Projection<AnyFormFact, Draft> {
  const review = createReview()
  return {
    name: 'webhook-dispatcher',
    topic: TOPICS.formEvents,
    schema: SealedFormFact as ZodType<AnyFormFact>,
    fence: 'QueueErased',
    // Of an erasure, the first copy is the fence.
    idempotencyOf: (fact) => (fact.type === 'QueueErased' ? { id: fact.id, receivedMs: Infinity } : undefined),
    load: async (db, records, context) => {
      const heard = context.mode === 'live' ? records.flatMap((record) => heardEventOf(record, listeners)) : []
      return { ...(await loadDraft(db, records, { ...context, isReviewed: review.isReviewed })), heard }
    },
    evolve: {
      FormQueued: report,
      FormDelivered: report,
      FormExpired: report,
      FormCancelled: 'ignored',
      FormAnswered: report,
      QueueErased: (draft, record, context) => {
        report(draft, record, context)
        if (context.mode !== 'rebuild') draft.erased.push(erasedUserOf(record))
      },
      SegmentEntered: report,
      SegmentLeft: report,
    },
    save: (draft) => ({ statements: saveDraft(draft) }),
    afterCommit: async (_db, { heard }) => listeners.hear(heard),
    ticks: createTicks(review),
  }
}

const NOBODY: Pick<Listeners, 'isHeard' | 'hear'> = { isHeard: () => false, hear: () => {} }

function heardEventOf(
  { fact }: Recorded<AnyFormFact>,
  { isHeard }: Pick<Listeners, 'isHeard'>,
): HeardEvent | readonly [] {
  if (!isHeard(fact)) return []
  const thin = thinPayloadOf(fact)
  if (!thin) return []
  const { organization, project, userId, id: webhookId } = fact
  const event = { organization, project, userId, webhookId, type: thin.type }
  return { ...event, body: JSON.stringify(thin), capture: capturedMembersOf(thin.type, []) }
}

/** Writes the deliveries of a record to the endpoints that have passed it, or pass it now. */
function report(draft: Draft, record: Recorded<AnyFormFact>, { mode }: FoldContext): void {
  const { fact, partition } = record
  const streams = draft.streams.get(placeKeyOf({ ...fact, partition })) ?? []
  const thin = streams.length > 0 ? thinPayloadOf(fact) : undefined
  if (!thin) return
  const body = JSON.stringify(thin)
  for (const stream of streams) {
    if (!wants(stream.webhook, thin.type) || !(mode === 'late' ? hasPassed(stream, record) : stream.isLive)) continue
    draft.deliveries.push(deliveryOf(stream, record, { type: thin.type, body }, draft.createdAt))
  }
}

/** Returns true for a stream that has passed a dead letter: one that is behind reads it itself, and a new one began after it. */
function hasPassed(
  { isLive, nextOffset, webhook }: LiveStream,
  { offset, timestampMs }: Recorded<AnyFormFact>,
): boolean {
  return (isLive || nextOffset > offset) && timestampMs >= Date.parse(webhook.addedAt)
}

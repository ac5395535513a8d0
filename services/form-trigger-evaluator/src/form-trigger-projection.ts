import { type EvaluatorReply, type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import { foldEvent, foldIdentify, idempotentRecordOf } from '@nextvisit/domain'
import type { FoldContext, Projection, Recorded } from '@nextvisit/projection'
import { confirmOffer, evaluateRecord, offerForm, offerNothing } from './evaluate-record.ts'
import { type AddressedReply, type DraftUser, emptyDraft, type FormsDraft, newUser, userKeyOf } from './forms-draft.ts'
import { readRepliesTo } from './keyed-outcomes.ts'
import { loadDraft } from './load-draft.ts'
import { findDueQueues, tickQueue } from './queue-tick.ts'
import { saveDraft } from './save-draft.ts'

export interface FormTriggerProjectionOptions {
  /** Never rejects: a reply may be lost. */
  readonly publishReplies: (replies: readonly AddressedReply[]) => Promise<void>
}

/**
 * Decides which forms reach a user, and when (forms.md). Activity is folded from every record; the queue moves only where
 * this is no rebuild. All facts of a user share a partition, so its owner reads, decides and writes whole rows.
 */
export function createFormTriggerProjection({
  publishReplies,
}: FormTriggerProjectionOptions): Projection<UserFact, FormsDraft> {
  return {
    name: 'form-trigger-evaluator',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    empty: emptyDraft,
    load: loadDraft,
    evolve: (draft, record, context) => {
      const { fact } = record
      const user = userOf(draft, record)
      if (fact.type === 'IdentifyRequested') evolveIdentify(draft, user, { ...record, fact }, context)
      if (fact.type === 'EventTracked') evolveEvent(draft, user, { ...record, fact }, context)
      if (fact.type === 'VisitAnswered' && !context.isRebuild) confirmOffer(draft, user, fact)
      return draft
    },
    save: saveDraft,
    after: async ({ replies }) => {
      if (replies.length > 0) await publishReplies(replies)
    },
    onDuplicates: async (db, duplicates) => {
      const replies = await readRepliesTo(db, duplicates)
      if (replies.length > 0) await publishReplies(replies)
    },
    due: findDueQueues,
    tick: tickQueue,
  }
}

function userOf({ users }: FormsDraft, { fact, partition }: Recorded<UserFact>): DraftUser {
  const key = userKeyOf(fact)
  const user = users.get(key) ?? newUser({ ...fact, partition })
  users.set(key, user)
  return user
}

/** An admin identify evaluates nothing and shows nothing. A visit nobody waits for is offered nothing. */
function evolveIdentify(
  draft: FormsDraft,
  user: DraftUser,
  record: Recorded<IdentifyRequested>,
  context: FoldContext,
): void {
  const { fact, replyTo } = record
  const startsSession = foldIdentify(user, fact)
  user.isChanged = true
  if (fact.source === 'admin' || context.isRebuild) return
  const occasion = { kind: 'visit', startsSession, receivedAt: Date.parse(fact.received) } as const
  evaluateRecord(draft, user, { fact, occasion }, context)
  reply(draft, record, replyTo ? offerForm(user, fact, context) : offerNothing(fact))
}

/** What was too old when it was received only counts. */
function evolveEvent(draft: FormsDraft, user: DraftUser, record: Recorded<EventTracked>, context: FoldContext): void {
  const { fact } = record
  foldEvent(user, fact)
  user.changedSlugs.add(fact.slug)
  user.isChanged ||= fact.source === 'sdk'
  if (context.isRebuild) return
  const formsQueued = fact.evaluateTriggers ? evaluateEvent(draft, user, fact, context) : 0
  reply(draft, record, { kind: 'track', recordId: fact.id, formsQueued })
}

/** To the gateway that waits, if one does; a copy of a keyed record gets the same (decisions.md, Retries). */
function reply(
  draft: FormsDraft,
  { fact: { id, keyed, received }, partition, replyTo }: Recorded<EventTracked | IdentifyRequested>,
  given: EvaluatorReply,
): void {
  if (replyTo) draft.replies.push({ channel: replyTo, reply: given })
  if (keyed) draft.outcomes.set(id, { partition, received, reply: given })
}

function evaluateEvent(draft: FormsDraft, user: DraftUser, fact: EventTracked, context: FoldContext): number {
  const { slug, source } = fact
  const receivedAt = Date.parse(fact.received)
  const occurredAt = Date.parse(fact.occurredAt)
  const occasion = { kind: 'event', slug, source, receivedAt, occurredAt } as const
  return evaluateRecord(draft, user, { fact, occasion }, context)
}

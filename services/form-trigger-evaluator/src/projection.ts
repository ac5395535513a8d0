import {
  type AddressedReply,
  createReviewedTicks,
  erasedUserOf,
  type FoldContext,
  formFactRows,
  type Projection,
  type ProjectionParts,
  type Recorded,
} from '@nextvisit/consumer'
import {
  type AnswerGiven,
  type EvaluatorReply,
  type EventTracked,
  type IdentifyRequested,
  isActivityFact,
  type ActivityFact,
  type SealedUserFact,
  TOPICS,
  type UserErased,
  UserFact,
  type VisitAnswered,
} from '@nextvisit/contracts'
import {
  answeredContextOf,
  applyAnswer,
  applyEvent,
  applyIdentify,
  applyVisit,
  compileForms,
  confirm,
  countKeysOf,
  eventContextOf,
  idempotentRecordOf,
  isClosed,
  queueErasedBy,
  userKeyOf,
  visitContextOf,
} from '@nextvisit/domain'
import type { StoppedForm } from './gate-counts.ts'
import { evaluateRecord, offerForm, offerNothing } from './evaluate-record.ts'
import { changeQueue, type DraftUser, type Draft, newUser } from './draft.ts'
import { readRepliesTo } from './idempotent-outcomes.ts'
import { loadDraft } from './load-draft.ts'
import { recordAnswer } from './record-answer.ts'
import { queueTicks } from './ticks.ts'
import { saveDraft } from './save-draft.ts'

interface FormTriggerParts extends Pick<ProjectionParts, 'publishReplies'> {
  /** Called with the forms that gates stopped once the decisions are committed, for figures. */
  readonly onStopped?: (forms: readonly StoppedForm[]) => void
}

/**
 * Creates the projection that decides which forms reach a user, and when (forms.md). Folds activity from every record. A
 * rebuild leaves the queue alone: it is in `form-events`. All facts of a user share a partition, so its owner reads, decides
 * and writes whole rows.
 */
export function createProjection({
  publishReplies,
  onStopped = () => undefined,
}: FormTriggerParts): Projection<UserFact, Draft> {
  return {
    name: 'form-trigger-evaluator',
    topic: TOPICS.userEvents,
    schema: UserFact,
    opens: readsPersonalMembers,
    idempotencyOf: idempotentRecordOf,
    load: loadDraft,
    evolve: {
      IdentifyRequested: evolveIdentify,
      EventTracked: evolveEvent,
      AnswerGiven: evolveAnswerGiven,
      VisitAnswered: evolveVisitAnswered,
      UserErased: evolveErased,
    },
    save: (draft) => ({ statements: saveDraft(draft), outbox: formFactRows('form-trigger-evaluator', draft.facts) }),
    afterCommit: async (db, { replies, stopped }, { duplicates, erased }) => {
      const all = erased.length > 0 ? [...replies, ...erased.flatMap(replyToErased)] : replies
      // Replies never reject. Figures come last: a failure of either loses nothing of the other.
      try {
        if (all.length > 0) await publishReplies(all)
        const repeated = duplicates.length > 0 ? await readRepliesTo(db, duplicates) : []
        if (repeated.length > 0) await publishReplies(repeated)
      } finally {
        onStopped(stopped)
      }
    },
    ticks: createReviewedTicks(queueTicks),
  }
}

/**
 * Returns true for an identify, an answer, and an event whose properties the `where` of a trigger compares: only a live fold evaluates
 * it.
 */
function readsPersonalMembers(fact: SealedUserFact, { catalog, mode }: FoldContext): boolean {
  if (fact.type !== 'EventTracked') return fact.type === 'IdentifyRequested' || fact.type === 'AnswerGiven'
  if (mode !== 'live' || !fact.evaluateTriggers) return false
  const configured = catalog.project(fact.organization, fact.project)
  return configured !== undefined && compileForms(configured.config).readsProperties(fact.slug)
}

function userOf({ users }: Draft, { fact, partition }: Recorded<UserFact>): DraftUser {
  const key = userKeyOf(fact)
  const user = users.get(key) ?? newUser(fact, partition)
  users.set(key, user)
  return user
}

/**
 * Folds an identify. An identify of an admin evaluates no triggers and offers no form. A visit gets an offer only if a gateway
 * waits for the reply.
 */
function evolveIdentify(draft: Draft, record: Recorded<IdentifyRequested>, context: FoldContext): void {
  const { fact, replyTo } = record
  const user = userOf(draft, record)
  applyIdentify(user, fact)
  const startsSession = applyVisit(user, fact)
  user.isChanged = true
  if (fact.source === 'admin' || context.mode !== 'live') return
  evaluateRecord(draft, user, { record, trigger: visitContextOf(fact, startsSession) }, context)
  reply(draft, record, replyTo ? offerForm(draft, user, fact, context) : offerNothing(fact))
}

/** Folds an event. An event that was too old when the gateway received it only raises counts. */
function evolveEvent(draft: Draft, record: Recorded<EventTracked>, context: FoldContext): void {
  const { fact } = record
  const user = userOf(draft, record)
  const { source, evaluateTriggers } = fact
  applyEvent(user, fact)
  for (const key of countKeysOf(fact)) user.changedCounts.add(key)
  user.isChanged ||= source === 'sdk'
  if (context.mode !== 'live') return
  const formsQueued = evaluateTriggers
    ? evaluateRecord(draft, user, { record, trigger: eventContextOf(fact) }, context)
    : 0
  reply(draft, record, { kind: 'track', recordId: fact.id, formsQueued })
}

/** Confirms an offer, however late the record is folded. A rebuild takes it from `form-events`. */
function evolveVisitAnswered(draft: Draft, record: Recorded<VisitAnswered>, { mode }: FoldContext): void {
  const user = userOf(draft, record)
  if (mode !== 'rebuild') changeQueue(draft, user, confirm(user.queue, record.fact), record)
}

/**
 * Folds an answer to a form. A rebuild takes what it did to its row from `form-events`. Of a live record, the answer that finishes a row
 * may set off other forms.
 */
function evolveAnswerGiven(draft: Draft, record: Recorded<AnswerGiven>, context: FoldContext): void {
  const { fact } = record
  const user = userOf(draft, record)
  user.answers = applyAnswer(user.answers, fact)
  if (context.mode === 'rebuild') return
  const outcome = recordAnswer(draft, user, record)
  if (context.mode !== 'live' || outcome !== 'recorded' || fact.status !== 'finished' || isClosed(fact)) return
  evaluateRecord(draft, user, { record, trigger: answeredContextOf(fact) }, context)
}

/**
 * Deletes everything about a user, and tells the readers of `form-events`. A rebuild publishes nothing. It finds what the user's queue
 * was before by `cause_offset`, because the queue comes from another topic.
 */
function evolveErased(draft: Draft, record: Recorded<UserErased>, { mode }: FoldContext): void {
  draft.erased.push(erasedUserOf(record))
  const { fact, offset, partition, traceparent } = record
  if (mode !== 'rebuild') draft.facts.push({ fact: queueErasedBy(fact, Number(offset)), partition, traceparent })
}

/** Returns the reply to a gateway that waits for a record of a user who is erased: no form. */
function replyToErased({ fact, replyTo: channel }: Recorded<UserFact>): readonly AddressedReply[] {
  if (!channel || !isActivityFact(fact)) return []
  if (fact.type === 'EventTracked') return [{ channel, reply: { kind: 'track', recordId: fact.id, formsQueued: 0 } }]
  return [{ channel, reply: offerNothing(fact) }]
}

/** Replies to a waiting gateway, and keeps the reply for duplicates of an idempotent record (decisions.md, Retries). */
function reply(
  draft: Draft,
  { fact: { id, keyed, received, userId }, partition, replyTo }: Recorded<ActivityFact>,
  given: EvaluatorReply,
): void {
  if (replyTo) draft.replies.push({ channel: replyTo, reply: given })
  if (keyed) draft.outcomes.push({ recordId: id, userId, partition, received, reply: JSON.stringify(given) })
}

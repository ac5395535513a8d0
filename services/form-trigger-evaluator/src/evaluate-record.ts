import type { EventTracked, IdentifyRequested, VisitAnswered, VisitReply } from '@nextvisit/contracts'
import { chooseForm, compileForms, evaluateForms, type Occasion, queuedIdOf } from '@nextvisit/domain'
import type { FoldContext } from '@nextvisit/projection'
import { type DraftUser, type FormsDraft, putRow, userKeyOf } from './forms-draft.ts'
import { delivered, formFactOf, lapsed, ownerOf, type QueueRow, queuedRow } from './queue-row.ts'

/**
 * Queues what this record sets off and keeps each decision. A form that this very record queued before is left as it is:
 * processing a record twice queues nothing twice. Returns how many forms the record has put into the queue.
 */
export function evaluateRecord(
  draft: FormsDraft,
  user: DraftUser,
  { fact, occasion }: { fact: IdentifyRequested | EventTracked; occasion: Occasion },
  { catalog }: FoldContext,
): number {
  const project = catalog.project(fact.organization, fact.project)
  if (!project) return 0
  lapseRows(draft, user, occasion.receivedAt)
  for (const decision of evaluateForms(compileForms(project.config), user, occasion)) {
    const { formId, trigger, checks } = decision
    if (user.rows.has(queuedIdOf(fact.id, fact.received, formId))) continue
    if (decision.outcome === 'queued') {
      const row = queuedRow(user, decision, fact, project.revision)
      putRow(user, row)
      draft.facts.push(formFactOf({ ...row, state: 'waiting' }, occasion.receivedAt))
    }
    draft.decisions.set(`${userKeyOf(user)}/${formId}`, {
      ...ownerOf(user),
      formId,
      outcome: decision.outcome === 'queued' ? 'queued' : decision.reason,
      recordId: fact.id,
      decidedAt: fact.received,
      catalogRevision: project.revision,
      trigger,
      checks,
    })
  }
  return [...user.rows.values()].filter((row) => isCausedBy(row, fact)).length
}

/** By this very record, and not by one under the same `Idempotency-Key` a day before. */
function isCausedBy({ id, causeId, formId }: QueueRow, fact: IdentifyRequested | EventTracked): boolean {
  return causeId === fact.id && id === queuedIdOf(fact.id, fact.received, formId)
}

/** The reply to a visit that shows nothing. */
export function offerNothing(visit: IdentifyRequested): VisitReply {
  return { kind: 'visit', recordId: visit.id, offer: null, moreWaiting: false }
}

/** Offers at most one form at a visit. */
export function offerForm(user: DraftUser, visit: IdentifyRequested, { catalog }: FoldContext): VisitReply {
  const received = Date.parse(visit.received)
  const project = catalog.project(visit.organization, visit.project)
  const choice = project && chooseForm(compileForms(project.config), user, received)
  const row = choice?.offer && user.rows.get(choice.offer.id)
  if (row) putRow(user, { ...row, state: 'offered', offeredAt: received })
  return {
    kind: 'visit',
    recordId: visit.id,
    offer: row ? { queuedId: row.id, formId: row.formId } : null,
    moreWaiting: choice?.moreWaiting ?? false,
  }
}

/** The gateway has answered a visit with a form: it is delivered, whatever became of the offer meanwhile. */
export function confirmOffer(draft: FormsDraft, user: DraftUser, answer: VisitAnswered): void {
  const row = user.rows.get(answer.queuedId)
  if (!row || (row.state === 'delivered' && row.visitId === answer.visitId)) return
  const next = delivered(row, answer)
  const before = user.shown.get(row.formId)
  const shownAt = Date.parse(answer.received)
  user.shown.set(row.formId, {
    times: (before?.times ?? 0) + (row.state === 'delivered' ? 0 : 1),
    lastAt: Math.max(before?.lastAt ?? shownAt, shownAt),
  })
  putRow(user, next)
  draft.facts.push(formFactOf({ ...next, state: 'delivered' }, shownAt))
}

/** What time has done since: the slot and the clock of a form that has expired are free, with or without a tick. */
function lapseRows(draft: FormsDraft, user: DraftUser, instant: number): void {
  for (const row of user.open.values()) {
    const next = lapsed(row, instant)
    if (next === row) continue
    putRow(user, next)
    if (next.state === 'expired') draft.facts.push(formFactOf({ ...next, state: 'expired' }, instant))
  }
}

import type { FoldContext, Recorded } from '@nextvisit/consumer'
import type { ActivityFact, AnswerGiven, DeviceFacts, IdentifyRequested, VisitReply } from '@nextvisit/contracts'
import {
  chooseForm,
  compileForms,
  momentOf,
  offer,
  queueForms,
  type TriggerContext,
  userKeyOf,
} from '@nextvisit/domain'
import { changeQueue, type DraftUser, type Draft, projectOf } from './draft.ts'

/**
 * Queues the forms that a record triggers, and keeps each decision. Returns the number of forms that the record has queued,
 * also if it was processed before.
 */
export function evaluateRecord(
  draft: Draft,
  user: DraftUser,
  { record, trigger }: { readonly record: Recorded<ActivityFact | AnswerGiven>; readonly trigger: TriggerContext },
  { catalog }: FoldContext,
): number {
  const { fact, offset } = record
  const { id: recordId, organization, project, userId, environment, received: decidedAt } = fact
  const configured = projectOf(draft, fact, catalog)
  if (!configured) return 0
  const { config, revision: catalogRevision } = configured
  const cause = { user, recordId, environment, catalogRevision, offset: Number(offset) }
  const { decisions, ...change } = queueForms(compileForms(config), user, trigger, cause)
  changeQueue(draft, user, change, record)
  for (const decision of decisions) {
    const { formId, gates } = decision
    const outcome = decision.outcome === 'queued' ? 'queued' : decision.reason
    if (outcome !== 'queued') draft.stopped.push({ organization, project, formId, reason: outcome })
    const common = { organization, project, userId, formId, recordId, decidedAt, catalogRevision }
    draft.decisions.set(`${userKeyOf(user)}/${formId}`, { ...common, outcome, trigger: decision.trigger, gates })
  }
  // Without rows of a record with the same `Idempotency-Key` that came a day before: it has another `received`.
  const rows = [...user.queue.rows.values()]
  return rows.filter(({ causeId, queuedAt }) => causeId === recordId && queuedAt === decidedAt).length
}

/** Returns the reply to a visit that shows no form. */
export function offerNothing(visit: IdentifyRequested): VisitReply {
  return { kind: 'visit', recordId: visit.id, offer: null, moreWaiting: false }
}

/** Offers at most one form at a visit. Returns the reply. */
export function offerForm(
  draft: Draft,
  user: DraftUser,
  visit: IdentifyRequested,
  { catalog }: FoldContext,
): VisitReply {
  const project = projectOf(draft, visit, catalog)
  if (!project) return offerNothing(visit)
  const received = momentOf(visit.received)
  const { offer: row, moreWaiting } = chooseForm(compileForms(project.config), user, received)
  if (row) user.queue = offer(user.queue, row, received)
  const offered = row ? { queuedId: row.id, formId: row.formId, languages: languagesOf(user.profile.device) } : null
  return { kind: 'visit', recordId: visit.id, offer: offered, moreWaiting }
}

/** Returns the languages in which a user reads a form, the preferred one first (forms.md, Content). */
function languagesOf({ $userLanguage, $deviceLanguage }: DeviceFacts): string[] {
  return [$userLanguage, $deviceLanguage].filter((language) => language !== undefined)
}

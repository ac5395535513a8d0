import type { AnswerOutcome, AnyUserFact, Sealed, SealedFormAnswered } from '@nextvisit/contracts'
import { applyFormFact, type Queue } from './queue.ts'

/**
 * Records an answer in its row, and returns the fact about it (forms.md, Outcomes of answers). `sealed`: the sealed members of
 * the answer, as in the log: they open in the fact, which has the same id.
 */
export function answerRow(
  queue: Queue,
  answer: AnyUserFact<'AnswerGiven'>,
  sealed: Sealed,
): { readonly queue: Queue; readonly fact: SealedFormAnswered } {
  const { id, organization, project, userId, offerId: queuedId, formId, received: at } = answer
  const { status, revision, language, environment, elements } = answer
  const fact: SealedFormAnswered = {
    type: 'FormAnswered',
    id,
    organization,
    project,
    userId,
    queuedId,
    formId,
    at,
    outcome: outcomeOf(queue, answer),
    status,
    revision,
    ...(language !== undefined && { language }),
    environment,
    elements,
    sealed,
  }
  return { queue: applyFormFact(queue, fact), fact }
}

function outcomeOf({ rows }: Queue, { offerId, formId }: AnyUserFact<'AnswerGiven'>): AnswerOutcome {
  const row = rows.get(offerId)
  if (row?.formId !== formId) return 'unmatched'
  return row.endedAt === null ? 'recorded' : 'late'
}

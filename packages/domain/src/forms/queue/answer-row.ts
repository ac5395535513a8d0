import type { AnswerOutcome, AnyUserFact, QueueRow, Sealed, SealedFormAnswered } from '@nextvisit/contracts'
import { applyFormFact, causeOf, type Queue } from './queue.ts'

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
  const row = rowOf(queue, answer)
  const fact: SealedFormAnswered = {
    type: 'FormAnswered',
    id,
    organization,
    project,
    userId,
    queuedId,
    formId,
    at,
    ...(row && causeOf(row)),
    outcome: outcomeOf(row),
    status,
    revision,
    ...(language !== undefined && { language }),
    environment,
    elements,
    sealed,
  }
  return { queue: applyFormFact(queue, fact), fact }
}

/** Returns the row that an answer is for; undefined: none of its user and form has this id. */
function rowOf({ rows }: Queue, { offerId, formId }: AnyUserFact<'AnswerGiven'>): QueueRow | undefined {
  const row = rows.get(offerId)
  return row?.formId === formId ? row : undefined
}

function outcomeOf(row: QueueRow | undefined): AnswerOutcome {
  if (!row) return 'unmatched'
  return row.endedAt === null ? 'recorded' : 'late'
}

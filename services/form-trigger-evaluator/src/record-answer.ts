import type { Recorded } from '@nextvisit/consumer'
import type { AnswerGiven, AnswerOutcome, SealedAnswerGiven } from '@nextvisit/contracts'
import { answerRow } from '@nextvisit/domain'
import type { Draft, DraftUser } from './draft.ts'

/**
 * Records an answer in its row of the user's queue, and publishes the outcome with a copy of the sealed answers. A retried dead letter
 * has the outcome of the moment when it is folded. Returns the outcome.
 */
export function recordAnswer(draft: Draft, user: DraftUser, record: Recorded<AnswerGiven>): AnswerOutcome {
  const { fact, sealed, partition, traceparent } = record
  const { queue, fact: answered } = answerRow(user.queue, fact, sealed ?? unopened(fact).sealed)
  user.queue = queue
  draft.facts.push({ fact: answered, partition, traceparent })
  return answered.outcome
}

/** A fact that was not opened has its sealed members, whatever its type says. */
function unopened(fact: AnswerGiven | SealedAnswerGiven): SealedAnswerGiven {
  if ('sealed' in fact) return fact
  throw new Error(`The answer ${fact.id} lacks its sealed members`)
}

import { encodeRecord, type FormFact, TOPICS } from '@nextvisit/contracts'
import type { Statement } from '@nextvisit/database'
import { outboxStatements } from '@nextvisit/projection'

/** Changes of the queue on their way to `form-events`, in this order. */
export function formFactsToOutbox(facts: readonly FormFact[]): Statement[] {
  return outboxStatements(
    facts.map((fact) => ({
      topic: TOPICS.formEvents,
      key: fact.userId,
      ...encodeRecord(fact, { source: 'form-trigger-evaluator', time: fact.at }),
    })),
  )
}

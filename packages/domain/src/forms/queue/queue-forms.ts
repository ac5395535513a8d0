import { evaluateForms, type EvaluatedForm } from '../evaluate-forms.ts'
import { queuedIdOf } from './form-ids.ts'
import type { FormIndex } from '../form-index.ts'
import { enqueue, expireDue, type QueueCause, type QueueChange } from './queue.ts'
import type { TriggerContext } from '../triggers.ts'
import type { UserState } from '../user-state.ts'

/** A queue after a record was evaluated. */
interface EvaluatedQueue extends QueueChange {
  /** One for each form that the record sets off. */
  readonly decisions: readonly EvaluatedForm[]
}

/**
 * Puts the forms that a record sets off into its user's queue. A form that the same record queued before is skipped, so
 * that processing a record twice queues nothing twice.
 */
export function queueForms(
  index: FormIndex,
  user: UserState,
  context: TriggerContext,
  cause: Omit<QueueCause, 'received'>,
): EvaluatedQueue {
  const { received } = context
  // An expired form frees its slot and its repeat, even if no tick has noticed it yet.
  const expired = expireDue(user.queue, received)
  let { queue } = expired
  const facts = [...expired.facts]
  const decisions = evaluateForms(index, { ...user, queue }, context).filter(
    ({ formId }) => !queue.rows.has(queuedIdOf(cause.recordId, received.iso, formId)),
  )
  for (const decision of decisions) {
    if (decision.outcome !== 'queued') continue
    const change = enqueue(queue, decision, { ...cause, received })
    queue = change.queue
    facts.push(...change.facts)
  }
  return { queue, facts, decisions }
}

import { evaluateForms, type FormDecision } from './evaluate-forms.ts'
import { queuedIdOf } from './form-ids.ts'
import type { FormIndex } from './form-index.ts'
import { enqueue, expireDue, type QueueCause, type QueueChange } from './queue.ts'
import type { TriggerContext } from './triggers.ts'
import type { UserState } from './user-state.ts'

/** A queue after a record was evaluated. */
export interface EvaluatedQueue extends QueueChange {
  /** Of each form that the record sets off. */
  readonly decisions: readonly FormDecision[]
}

/**
 * Puts the forms that a record sets off into its user's queue. A form that this very record queued before is left as it is,
 * and is not decided again: processing a record twice queues nothing twice.
 */
export function queueForms(
  index: FormIndex,
  user: UserState,
  context: TriggerContext,
  cause: Omit<QueueCause, 'received'>,
): EvaluatedQueue {
  const { received } = context
  // The slot and the clock of a form that has expired are free, whether a tick has noticed it or not.
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

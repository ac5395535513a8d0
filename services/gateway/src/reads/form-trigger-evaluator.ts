import { FormsReadModel, QueueAnswer, type UserQuery } from '@nextvisit/contracts'
import type { ServiceClient } from '@nextvisit/service-kit'

export type FormTriggerEvaluator = ReturnType<typeof createFormTriggerEvaluator>

/** The evaluator's reads: a user's queue, and why forms did, or did not, reach a user. */
export function createFormTriggerEvaluator({ read, stop }: ServiceClient) {
  return {
    stop,
    readQueue: (query: UserQuery, deadlineAt: number) => read('readQueue', query, QueueAnswer, deadlineAt),
    readForms: (query: UserQuery, deadlineAt: number) => read('readForms', query, FormsReadModel, deadlineAt),
  }
}

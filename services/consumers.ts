/**
 * Every consumer, one line each: the commands of `nextvisit`, the local stack and the tests read this list. It opens nothing.
 * The gateway is not among them: it folds nothing.
 */
import type { Consumer } from '@nextvisit/consumer'

export const consumers = [
  (await import('./user-projector/src/consumer.ts')).userProjector,
  (await import('./trait-registry/src/consumer.ts')).traitRegistry,
  (await import('./metering/src/consumer.ts')).metering,
  (await import('./form-trigger-evaluator/src/consumer.ts')).formTriggerEvaluator,
] as const satisfies readonly Consumer[]

export type ConsumerName = (typeof consumers)[number]['name']

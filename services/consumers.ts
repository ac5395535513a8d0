/**
 * Every consumer, one line (and its import) each: the commands of `nextvisit`, the local stack and the tests read this
 * list. It opens nothing. The gateway is not among them: it folds nothing.
 */
import type { Consumer } from '@nextvisit/consumer'
import { answerCollector } from './answer-collector/src/consumer.ts'
import { formTriggerEvaluator } from './form-trigger-evaluator/src/consumer.ts'
import { metering } from './metering/src/consumer.ts'
import { traitRegistry } from './trait-registry/src/consumer.ts'
import { userEraser } from './user-eraser/src/consumer.ts'
import { userProjector } from './user-projector/src/consumer.ts'
import { webhookDispatcher } from './webhook-dispatcher/src/consumer.ts'

/** Consumers of user-events. */
export const userConsumers = [
  userProjector,
  traitRegistry,
  metering,
  formTriggerEvaluator,
] as const satisfies readonly Consumer[]

/** The eraser asks the others, so it is the last one. */
export const consumers = [
  ...userConsumers,
  answerCollector,
  webhookDispatcher,
  userEraser,
] as const satisfies readonly Consumer[]

export type UserConsumerName = (typeof userConsumers)[number]['name']
export type ConsumerName = (typeof consumers)[number]['name']

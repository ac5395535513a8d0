import { answerCollectorCalls } from './answer-collector.ts'
import { deadLetterCalls } from './dead-letters.ts'
import type { CallTable } from './define-call.ts'
import { erasedUserCalls } from './erased-users.ts'
import { formTriggerEvaluatorCalls } from './form-trigger-evaluator.ts'
import { gatewayCalls } from './gateway.ts'
import { meteringCalls } from './metering.ts'
import { operationsCalls } from './operations.ts'
import { personalDataCalls } from './personal-data.ts'
import { traitRegistryCalls } from './trait-registry.ts'
import { userEraserCalls } from './user-eraser.ts'
import { userProjectorCalls } from './user-projector.ts'
import { webhookDispatcherCalls } from './webhook-dispatcher.ts'

/** Answered by every consumer, in addition to its own calls. */
export const consumerCalls = {
  ...operationsCalls,
  ...deadLetterCalls,
  ...personalDataCalls,
  ...erasedUserCalls,
} satisfies CallTable

/** The calls of each service, by its name. Consumers also answer `consumerCalls`. */
export const CALLS = {
  gateway: gatewayCalls,
  'user-projector': userProjectorCalls,
  'trait-registry': traitRegistryCalls,
  metering: meteringCalls,
  'form-trigger-evaluator': formTriggerEvaluatorCalls,
  'answer-collector': answerCollectorCalls,
  'user-eraser': userEraserCalls,
  'webhook-dispatcher': webhookDispatcherCalls,
} satisfies Readonly<Record<string, CallTable>>

/** A service with internal calls. */
export type ServiceName = keyof typeof CALLS

/**
 * Returns the variable with the internal addresses of a service's processes, such as `METERING_URLS`. The gateway's contains
 * `INTERNAL`, because it has a public address, too.
 */
export function addressesVariable(service: string): string {
  const name = service === 'gateway' ? 'gateway-internal' : service
  return `${name.replaceAll('-', '_').toUpperCase()}_URLS`
}

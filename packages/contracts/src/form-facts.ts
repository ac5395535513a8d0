import { z } from 'zod'
import { Instant, SlugId, Uuid } from './primitives.ts'

const common = {
  /** Stable for each change of the queue: what repeats are dropped by. */
  id: Uuid,
  organization: SlugId,
  project: SlugId,
  userId: Uuid,
  /** The queue row: UUIDv5 of record id, received and form id. */
  queuedId: Uuid,
  formId: SlugId,
  /** When it happened, by the instant of the record or tick that decided it. */
  at: Instant,
}

export const FormQueued = z.object({
  type: z.literal('FormQueued'),
  ...common,
  /** The record that matched. */
  causeId: Uuid,
  priority: z.number().int(),
  /** Shown no earlier than this. */
  showFrom: Instant,
  /** Not shown at or after this; absent: never expires. */
  expiresAt: Instant.optional(),
  /** Revision of the organization's catalog record that the decision was made under. */
  catalogRevision: z.number().int(),
})
export const FormDelivered = z.object({ type: z.literal('FormDelivered'), ...common, visitId: Uuid })
export const FormCancelled = z.object({ type: z.literal('FormCancelled'), ...common })
export const FormExpired = z.object({ type: z.literal('FormExpired'), ...common })

/** Everything on the topic `form-events`: the log of the evaluator's decisions. */
export const FormFact = z.discriminatedUnion('type', [FormQueued, FormDelivered, FormCancelled, FormExpired])
export type FormFact = z.infer<typeof FormFact>
export type FormQueued = z.infer<typeof FormQueued>
export type FormDelivered = z.infer<typeof FormDelivered>
export type FormCancelled = z.infer<typeof FormCancelled>
export type FormExpired = z.infer<typeof FormExpired>

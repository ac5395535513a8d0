import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'

/** What every change of the queue carries. */
const common = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the queue: repeats are dropped by it.'),
  organization: SlugId.describe('Whose project it is.'),
  project: SlugId.describe('Where it happened.'),
  userId: Uuid.describe('Whose queue it is. The Kafka key.'),
  queuedId: Uuid.describe('The row of the queue: UUIDv5 of record id, received and form id.'),
  formId: SlugId.describe('The form.'),
  at: Instant.describe('When it happened, by the instant of the record or tick that decided it.'),
}

/** A form waits for the user's next visit. */
export const FormQueued = z.object({
  type: z.literal('FormQueued').describe('As in `ce_type`.'),
  ...common,
  causeId: Uuid.describe('The record of user-events that set it off.'),
  priority: z.number().int().describe('The highest is shown first.'),
  showFrom: Instant.describe('Shown no earlier than this.'),
  expiresAt: Instant.optional().describe('Not shown at or after this; left out: never expires.'),
  catalogRevision: z
    .number()
    .int()
    .describe("Revision of the organization's catalog record that this was decided under."),
})

/** The form was shown. */
export const FormDelivered = z.object({
  type: z.literal('FormDelivered').describe('As in `ce_type`.'),
  ...common,
  visitId: Uuid.describe('The record of the visit that it was shown at.'),
})

/** The form was removed or disabled in the workspace while it waited. */
export const FormCancelled = z.object({ type: z.literal('FormCancelled').describe('As in `ce_type`.'), ...common })

/** The form waited too long. */
export const FormExpired = z.object({ type: z.literal('FormExpired').describe('As in `ce_type`.'), ...common })

/** Everything on the topic `form-events`: the log of the evaluator's decisions. */
export const FormFact = z.discriminatedUnion('type', [FormQueued, FormDelivered, FormCancelled, FormExpired])
export type FormFact = z.infer<typeof FormFact>
export type FormQueued = z.infer<typeof FormQueued>
export type FormDelivered = z.infer<typeof FormDelivered>
export type FormCancelled = z.infer<typeof FormCancelled>
export type FormExpired = z.infer<typeof FormExpired>

import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'

/** Members of every record on `form-events`. Each record is a change of a user's queue. */
const formFactMembers = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the queue, so readers drop repeats by it.'),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe('The user of the queue. The Kafka key.'),
  queuedId: Uuid.describe('The row of the queue: UUIDv5 of record id, received and form id.'),
  formId: SlugId.describe('The form.'),
  at: Instant.describe('Time of the change: the instant of the record or tick that decided it.'),
}

export const FormQueued = z
  .object({
    type: z.literal('FormQueued').describe('As in `ce_type`.'),
    ...formFactMembers,
    causeId: Uuid.describe('The record of user-events that queued the form.'),
    causeOffset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Its offset in the partition of the user: an erasure deletes what earlier records queued.'),
    priority: z.number().int().describe('Forms with a higher priority are shown first.'),
    showFrom: Instant.describe('Shown no earlier than this.'),
    expiresAt: Instant.optional().describe('Not shown at or after this; absent: never expires.'),
    catalogRevision: z.number().int().describe("Revision of the organization's catalog record at the decision."),
  })
  .describe("A form waits for the user's next visit.")
export type FormQueued = z.infer<typeof FormQueued>

export const FormDelivered = z
  .object({
    type: z.literal('FormDelivered').describe('As in `ce_type`.'),
    ...formFactMembers,
    visitId: Uuid.describe('The record of the visit that showed the form.'),
  })
  .describe('The form was shown.')
export type FormDelivered = z.infer<typeof FormDelivered>

export const FormCancelled = z
  .object({ type: z.literal('FormCancelled').describe('As in `ce_type`.'), ...formFactMembers })
  .describe('The form was removed or disabled in the workspace while it waited.')
export type FormCancelled = z.infer<typeof FormCancelled>

export const FormExpired = z
  .object({ type: z.literal('FormExpired').describe('As in `ce_type`.'), ...formFactMembers })
  .describe('A waiting form expired.')
export type FormExpired = z.infer<typeof FormExpired>

/** The evaluator's answer to a `UserErased`, so that replays of `form-events` end the queue too. */
export const QueueErased = z
  .object({
    type: z.literal('QueueErased').describe('As in `ce_type`.'),
    id: Uuid.describe('As in `ce_id`: stable for each erasure of a user.'),
    organization: SlugId.describe('The organization of the project.'),
    project: SlugId.describe('The project of the user.'),
    userId: Uuid.describe('The user. The Kafka key.'),
    at: Instant.describe('When the erasure was requested.'),
    erasureId: Uuid.describe('The erasure.'),
  })
  .describe('The user is erased: waiting, offered and shown forms before this record are deleted.')
export type QueueErased = z.infer<typeof QueueErased>

import { z } from 'zod'
import { Instant, Uuid } from '../primitives.ts'
import { formFactMembers } from './form-fact-members.ts'

export const FormQueued = z
  .object({
    type: z.literal('FormQueued').describe('As in `ce_type`.'),
    ...formFactMembers,
    causeId: Uuid.describe('The record of user-events that queued the form.'),
    priority: z.number().int().describe('Forms with a higher priority are shown first.'),
    showFrom: Instant.describe('Shown no earlier than this.'),
    expiresAt: Instant.optional().describe('Not shown at or after this; absent: never expires.'),
    catalogRevision: z.number().int().describe("Revision of the organization's catalog record at the decision."),
  })
  .describe("A form waits for the user's next visit.")
export type FormQueued = z.infer<typeof FormQueued>

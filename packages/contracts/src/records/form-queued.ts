import { z } from 'zod'
import { Instant, Uuid } from '../primitives.ts'
import { formFactMembers } from './form-fact-members.ts'

export const FormQueued = z
  .object({
    type: z.literal('FormQueued').describe('As in `ce_type`.'),
    ...formFactMembers,
    causeId: Uuid.describe('The record of user-events that set it off.'),
    priority: z.number().int().describe('The highest is shown first.'),
    showFrom: Instant.describe('Shown no earlier than this.'),
    expiresAt: Instant.optional().describe('Not shown at or after this; left out: never expires.'),
    catalogRevision: z
      .number()
      .int()
      .describe("Revision of the organization's catalog record that this was decided under."),
  })
  .describe("A form waits for the user's next visit.")
export type FormQueued = z.infer<typeof FormQueued>

import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import { userFactMembers } from './user-fact-members.ts'

/** Confirms the offer of a form (forms.md, The queue). */
export const VisitAnswered = z
  .object({
    type: z.literal('VisitAnswered').describe('As in `ce_type`.'),
    ...userFactMembers,
    received: Instant.describe("The visit's own `received`."),
    visitId: Uuid.describe("The id of the visit's record."),
    formId: SlugId.describe('The form that was shown.'),
    queuedId: Uuid.describe('The offered row of the queue.'),
  })
  .describe('The gateway has answered a visit with a form.')
export type VisitAnswered = z.infer<typeof VisitAnswered>

import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import { formFactMembers } from './form-fact-members.ts'

export const FormDelivered = z
  .object({
    type: z.literal('FormDelivered').describe('As in `ce_type`.'),
    ...formFactMembers,
    visitId: Uuid.describe('The record of the visit that showed the form.'),
  })
  .describe('The form was shown.')
export type FormDelivered = z.infer<typeof FormDelivered>

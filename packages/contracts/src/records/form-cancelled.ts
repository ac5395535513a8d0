import { z } from 'zod'
import { formFactMembers } from './form-fact-members.ts'

export const FormCancelled = z
  .object({ type: z.literal('FormCancelled').describe('As in `ce_type`.'), ...formFactMembers })
  .describe('The form was removed or disabled in the workspace while it waited.')
export type FormCancelled = z.infer<typeof FormCancelled>

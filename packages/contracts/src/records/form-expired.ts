import { z } from 'zod'
import { formFactMembers } from './form-fact-members.ts'

export const FormExpired = z
  .object({ type: z.literal('FormExpired').describe('As in `ce_type`.'), ...formFactMembers })
  .describe('The form waited too long.')
export type FormExpired = z.infer<typeof FormExpired>

import { z } from 'zod'
import { formFactMembers } from './form-fact-members.ts'

export const FormExpired = z
  .object({ type: z.literal('FormExpired').describe('As in `ce_type`.'), ...formFactMembers })
  .describe('A waiting form expired.')
export type FormExpired = z.infer<typeof FormExpired>

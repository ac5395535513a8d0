import { z } from 'zod'
import { KeptRefusal } from '../public/refusals.ts'
import { Uuid } from '../primitives.ts'
import { projectFields } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Maximum number of refusals in one answer. */
export const MAX_REFUSALS_ASKED = 1_000
/** Asks for the latest refusals of one project. `userId`: only those that name this user. */
export const RefusalsQuery = z.object({
  ...projectFields,
  limit: z.number().int().min(1).max(MAX_REFUSALS_ASKED),
  userId: Uuid.optional(),
})
export type RefusalsQuery = z.infer<typeof RefusalsQuery>
/** Newest first; `null` while Redis, which keeps the refusals of all gateways, does not answer. */
export const RefusalsAnswer = z.object({ refusals: z.array(KeptRefusal).nullable() })
export type RefusalsAnswer = z.infer<typeof RefusalsAnswer>

export const gatewayCalls = {
  readRefusals: defineCall({ path: '/internal/refusals/read', question: RefusalsQuery, answer: RefusalsAnswer }),
} satisfies CallTable

import { z } from 'zod'
import { KeptRefusal } from '../public/admin-api.ts'
import { projectFields } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** The `reason` of a request that a gateway refuses for a limit. Over the cap on traits nothing is refused: new traits are dropped. */
export type LimitReason = 'eventLimit' | 'mau' | 'uniqueEvents'

/** Asks for the latest refusals of one project. */
export const RefusalsQuery = z.object({ ...projectFields, limit: z.number().int().min(1).max(1_000) })
export type RefusalsQuery = z.infer<typeof RefusalsQuery>
/** Newest first; `null` while Redis, which keeps the refusals of all gateways, does not answer. */
export const RefusalsAnswer = z.object({ refusals: z.array(KeptRefusal).nullable() })
export type RefusalsAnswer = z.infer<typeof RefusalsAnswer>

export const gatewayCalls = {
  readRefusals: defineCall({ path: '/internal/refusals/read', question: RefusalsQuery, answer: RefusalsAnswer }),
} satisfies CallTable

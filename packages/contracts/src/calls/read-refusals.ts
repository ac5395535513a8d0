import { z } from 'zod'
import { SlugId } from '../primitives.ts'
import { KeptRefusal } from '../public/admin-api.ts'

/** The `reason` of a request that a gateway refuses for a limit. New traits over their cap are left out, and nothing is refused. */
export type LimitReason = 'eventLimit' | 'mau' | 'uniqueEvents'

/** What the console asks a gateway (`INTERNAL_ROUTES.readRefusals`): of one project, the latest so many. */
export const RefusalsQuery = z.object({
  organization: SlugId,
  project: SlugId,
  limit: z.number().int().min(1).max(1_000),
})
export type RefusalsQuery = z.infer<typeof RefusalsQuery>
/** `null`: Redis, where every gateway keeps them, does not answer. */
export const RefusalsAnswer = z.object({ refusals: z.array(KeptRefusal).nullable() })
export type RefusalsAnswer = z.infer<typeof RefusalsAnswer>

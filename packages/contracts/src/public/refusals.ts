import { z } from 'zod'
import { Environment, Instant, KeyKind, Uuid } from '../primitives.ts'
import type { PlanLimit } from '../workspace/plan-limits.ts'

/**
 * The `reason` of a request that a gateway refuses for a limit. Over the cap on traits nothing is refused: new traits
 * are dropped.
 */
export type LimitReason = NonNullable<PlanLimit['refusal']>

/** A refused request or item, without a userName, a value or other text of the caller (decisions.md, Refusals). */
export const KeptRefusal = z.strictObject({
  id: Uuid,
  at: Instant,
  reason: z.string().describe('The name of the rule that refused it, such as tooFast.'),
  status: z.number().int().describe('The status of the answer.'),
  message: z.string().describe('The message of the answer, with … in place of names that the caller chose.'),
  route: z.string(),
  requestId: Uuid.describe('The X-Request-Id of the answer.'),
  item: z.number().int().optional().describe('The position in a batch.'),
  key: z
    .strictObject({ name: z.string(), kind: KeyKind, environment: Environment })
    .describe('The key as named in the workspace file.'),
  userId: Uuid.optional().describe('Absent if the request names no user, or was refused before its body was read.'),
  event: z.string().optional().describe('The slug, if the workspace file declares this event.'),
})
export type KeptRefusal = z.infer<typeof KeptRefusal>

/** `GET /v2/admin/refusals`. */
export const RefusalsPage = z.strictObject({
  refusals: z.array(KeptRefusal).describe('The latest of each reason, newest first.'),
  counts: z.record(z.string(), z.number().int()).describe('All refusals of the last 24 hours, by reason.'),
  next: z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.'),
})
export type RefusalsPage = z.infer<typeof RefusalsPage>

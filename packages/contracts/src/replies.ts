import { z } from 'zod'
import { SlugId, Uuid } from './primitives.ts'

/** The evaluator's reply to a tracked event, over Redis pub/sub on the channel in the record's `reply-to`. */
export const TrackReply = z.object({ kind: z.literal('track'), recordId: Uuid, formsQueued: z.number().int() })

/** The evaluator's reply to a visit: the offered form, and whether more forms wait. */
export const VisitReply = z.object({
  kind: z.literal('visit'),
  recordId: Uuid,
  offer: z.object({ queuedId: Uuid, formId: SlugId }).nullable(),
  moreWaiting: z.boolean(),
})

export const EvaluatorReply = z.discriminatedUnion('kind', [TrackReply, VisitReply])
export type EvaluatorReply = z.infer<typeof EvaluatorReply>
export type TrackReply = z.infer<typeof TrackReply>
export type VisitReply = z.infer<typeof VisitReply>

/** The reply channel of one gateway process. */
export function replyChannel(gatewayInstanceId: string): string {
  return `nextvisit:replies:${gatewayInstanceId}`
}

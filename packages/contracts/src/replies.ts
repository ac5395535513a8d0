import { z } from 'zod'
import { SlugId, Uuid } from './primitives.ts'

/** What the evaluator answers to a tracked event, over Redis pub/sub on the channel in the record's `reply-to`. */
export const TrackReply = z.object({ kind: z.literal('track'), recordId: Uuid, formsQueued: z.number().int() })

/** What it answers to a visit: the form that is offered, and whether more wait. */
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

/** The channel of one gateway process. */
export function replyChannel(gatewayInstanceId: string): string {
  return `nextvisit:replies:${gatewayInstanceId}`
}

import { z } from 'zod'
import { SlugId, Uuid } from './primitives.ts'

/** The evaluator's reply to a tracked event, over Redis pub/sub on the channel in the record's `reply-to`. */
const TrackReply = z.object({ kind: z.literal('track'), recordId: Uuid, formsQueued: z.number().int() })

/** The form that a visit gets, by its row in the queue. */
const VisitOffer = z.object({
  queuedId: Uuid,
  formId: SlugId,
  /** The languages of the user after this visit, the preferred one first. As devices report them, so any text. */
  languages: z.array(z.string()).max(2).default([]),
})
export type VisitOffer = z.infer<typeof VisitOffer>

/** The evaluator's reply to a visit: the offered form, and whether more forms wait. */
const VisitReply = z.object({
  kind: z.literal('visit'),
  recordId: Uuid,
  offer: VisitOffer.nullable(),
  moreWaiting: z.boolean(),
})

export const EvaluatorReply = z.discriminatedUnion('kind', [TrackReply, VisitReply])
export type EvaluatorReply = z.infer<typeof EvaluatorReply>
type TrackReply = z.infer<typeof TrackReply>
export type VisitReply = z.infer<typeof VisitReply>

/** Returns the name of the reply channel of one gateway process. */
export function replyChannel(gatewayInstanceId: string): string {
  return `nextvisit:replies:${gatewayInstanceId}`
}

/**
 * Channel on which gateways announce published records that a caller waits for. The evaluator fetches them at once, and others
 * after a pause. A lost message costs its caller that pause.
 */
export const AWAITED_RECORDS_CHANNEL = 'nextvisit:awaited-records'

export const AwaitedRecord = z.object({
  topic: z.string(),
  partition: z.number().int(),
  /** A string in JSON. */
  offset: z
    .string()
    .regex(/^\d{1,19}$/)
    .transform(BigInt),
})
export type AwaitedRecord = z.infer<typeof AwaitedRecord>

/** Payloads of webhooks, and bodies and answers of the routes about them (docs/spec/webhooks.md). */
import { z } from 'zod'
import { Environment, Instant, SlugId, staleFields, Uuid } from '../primitives.ts'
import { AnswerValue } from '../records/answer-value.ts'
import { SegmentCause } from '../records/form-events.ts'
import { WebhookEvent, WebhookInclude } from '../workspace/webhook.ts'

const count = z.number().int().min(0)

const userMembers = {
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe('The user. `identify-user` returns this id.'),
  traits: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Only of endpoints that include `traits`: the traits of the user, as they were before the first attempt. Absent, too, if the user has ' +
        'no profile.',
    ),
  moreTraits: z
    .literal(true)
    .optional()
    .describe(
      'True if `traits` would have more than 65,536 bytes as JSON: the largest traits are left out. Absent otherwise.',
    ),
}

const formMembers = {
  ...userMembers,
  formId: SlugId.describe('The form.'),
  offerId: Uuid.describe("The row of the user's queue, as in `nextFeedback`."),
  causeId: Uuid.optional().describe('The request that queued the form: its `requestId`.'),
}

const segmentMembers = {
  ...userMembers,
  segmentId: SlugId.describe('The segment.'),
  cause: SegmentCause.describe(
    '`record`: a record of the user. `time`: time alone. `definition`: the segment was added, changed or removed.',
  ),
  causeId: Uuid.optional().describe('The request that changed the membership. Only if `cause` is `record`.'),
}

const erasedMembers = {
  organization: userMembers.organization,
  project: userMembers.project,
  userId: userMembers.userId,
  erasureId: Uuid.describe('The erasure.'),
}

function payload<Type extends string, Data extends z.ZodRawShape>(type: Type, members: Data, described: string) {
  return z
    .strictObject({
      type: z.literal(type),
      timestamp: Instant.describe('Time of the record, not of the attempt.'),
      data: z.strictObject(members),
    })
    .describe(described)
}

/** The body of a delivery, by the type of its event. */
export const WEBHOOK_PAYLOADS = {
  'form.queued': payload(
    'form.queued',
    { ...formMembers, environment: Environment.describe('The environment of the key of the request.') },
    "A form waits for the user's next visit.",
  ),
  'form.delivered': payload('form.delivered', formMembers, 'A visit has got the form.'),
  'form.answered': payload(
    'form.answered',
    {
      ...formMembers,
      revision: z.number().int().min(1).describe('The revision of the content that was answered.'),
      language: z.string().optional().describe('The language that was shown. Absent: not given.'),
      answers: z.record(z.string(), AnswerValue).describe('All answers of the offer, by element.'),
    },
    'A user has finished a form.',
  ),
  'form.dismissed': payload('form.dismissed', formMembers, 'A user has dismissed a form.'),
  'form.expired': payload('form.expired', formMembers, 'A form has expired while it waited.'),
  'user.entered_segment': payload('user.entered_segment', segmentMembers, 'A user became a member of a segment.'),
  'user.left_segment': payload('user.left_segment', segmentMembers, 'A user is no longer a member of a segment.'),
  'user.erased': payload('user.erased', erasedMembers, 'A user is erased. Delete your own copies.'),
  'webhook.test': payload(
    'webhook.test',
    {
      organization: userMembers.organization,
      project: userMembers.project,
      endpointId: SlugId.describe('The endpoint.'),
    },
    'Somebody tests the endpoint.',
  ),
} as const
export const WebhookType = z.enum([...WebhookEvent.options, 'webhook.test'])
export type WebhookType = z.infer<typeof WebhookType>
export type WebhookPayload<Type extends WebhookType = WebhookType> = z.infer<(typeof WEBHOOK_PAYLOADS)[Type]>

/** `pending`: it waits for its next attempt, or for an earlier delivery of the same user. */
export const DeliveryStatus = z.enum(['pending', 'delivered', 'failed'])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

/** How an attempt ended. `blocked`: the address is not allowed, and nothing was sent. */
export const AttemptOutcome = z.enum(['delivered', 'refused', 'timeout', 'unreachable', 'blocked'])
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

export const WebhookAttempt = z.strictObject({
  at: Instant,
  durationMs: count,
  outcome: AttemptOutcome,
  httpStatus: z.number().int().optional().describe('Absent: no response came.'),
  error: z.string().optional().describe('Why no response came, or why it does not count.'),
  response: z.string().optional().describe('The first 4 KB of the body of the response.'),
})
export type WebhookAttempt = z.infer<typeof WebhookAttempt>

export const WebhookDelivery = z.strictObject({
  deliveryId: Uuid,
  webhookId: Uuid.describe('`webhook-id`: the id of the record, the same in each attempt and in replays.'),
  type: WebhookType,
  userId: Uuid.optional().describe('Absent of tests.'),
  replayId: Uuid.optional().describe('The replay that it belongs to. Absent: none.'),
  status: DeliveryStatus,
  attempts: count.describe('Number of finished attempts.'),
  timestamp: Instant.describe('Time of the record.'),
  createdAt: Instant,
  endedAt: Instant.optional(),
  nextAttemptAt: Instant.optional().describe(
    'Only of a pending delivery. Absent of one that waits for an earlier delivery of the same user.',
  ),
  lastAttempt: WebhookAttempt.omit({ response: true }).optional(),
})
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

/** `GET /v2/admin/webhooks/{id}/deliveries`: newest first. */
export const WebhookDeliveries = z.strictObject({
  deliveries: z.array(WebhookDelivery),
  next: z.string().nullable().describe('`after` of the next page. null: this is the last one.'),
  ...staleFields,
})
export type WebhookDeliveries = z.infer<typeof WebhookDeliveries>

/** `GET /v2/admin/webhooks/{id}/deliveries/{deliveryId}`. */
export const WebhookDeliveryDetail = WebhookDelivery.omit({ lastAttempt: true }).extend({
  body: z.string().optional().describe('The bytes that are signed and sent. Absent: not captured yet.'),
  attemptLog: z.array(WebhookAttempt).describe('Oldest first.'),
})
export type WebhookDeliveryDetail = z.infer<typeof WebhookDeliveryDetail>

/**
 * `live`: it follows the log. `catching-up`: it reads what the log has got meanwhile. `disabled`: by the workspace file, a 410, or five
 * days of failures; it keeps its place in the log.
 */
export const WebhookState = z.enum(['live', 'catching-up', 'disabled'])
export type WebhookState = z.infer<typeof WebhookState>

export const WebhookReplay = z.strictObject({
  replayId: Uuid,
  from: Instant,
  to: Instant.optional(),
  events: z.array(WebhookEvent).optional(),
  requestedAt: Instant,
  status: z.enum(['running', 'complete']).describe('`complete`: all records are read, and no delivery is pending.'),
  progress: z.number().min(0).max(1).describe('The part of the log that is read.'),
  deliveries: count,
  pending: count,
  failed: count,
})
export type WebhookReplay = z.infer<typeof WebhookReplay>

export const WebhookEndpoint = z.strictObject({
  id: SlugId,
  url: z.string(),
  events: z.array(WebhookEvent).optional().describe('Absent: all.'),
  include: z.array(WebhookInclude),
  state: WebhookState,
  because: z.string().optional().describe('Why it is disabled.'),
  disabledAt: Instant.optional(),
  addedAt: Instant,
  behind: count.describe('Records of the log that it has not read yet. 0 of a live endpoint.'),
  pending: count.describe('Deliveries that are pending.'),
  failed: count.describe('Deliveries that have failed, in the last 30 days.'),
  oldestPendingAt: Instant.optional().describe(
    'When the oldest pending delivery was created, or sent again by hand after its end.',
  ),
  failingSince: Instant.optional().describe(
    'Attempts have failed since then, and none has succeeded. Absent: the last one has, or none was made for two days.',
  ),
  lastDeliveredAt: Instant.optional(),
  replays: z.array(WebhookReplay).describe('The latest ten, newest first.'),
})
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>

/** `GET /v2/admin/webhooks`. */
export const WebhookEndpoints = z.strictObject({
  webhooks: z.array(WebhookEndpoint),
  countedUpTo: count.describe('Deliveries are counted up to this number: a count that has reached it may be larger.'),
  ...staleFields,
})
export type WebhookEndpoints = z.infer<typeof WebhookEndpoints>

const givenRange = {
  from: z
    .string()
    .describe(
      'The first instant: ISO 8601 with a time zone, or a day such as `2026-01-31`, which begins at midnight UTC.',
    ),
  to: z.string().nullish().describe('The end, exclusive, in the same form. Default: now.'),
}

/** `POST /v2/admin/webhooks/{id}/replay`. */
export const WebhookReplayBody = z.object({
  ...givenRange,
  events: z.array(WebhookEvent).min(1).nullish().describe('Default: the events of the endpoint.'),
})
export const WebhookReplayBegun = z.strictObject({ replayId: Uuid })
export type WebhookReplayBegun = z.infer<typeof WebhookReplayBegun>

/** `POST /v2/admin/webhooks/{id}/retry`: retries failed deliveries by the time of their record. */
export const WebhookRetryBody = z.object(givenRange)
export const WebhookRetried = z.strictObject({ retried: count })
export type WebhookRetried = z.infer<typeof WebhookRetried>

/** `POST /v2/admin/webhooks/{id}/test`, and `…/deliveries/{deliveryId}/retry`. */
export const WebhookDeliveryBegun = z.strictObject({ deliveryId: Uuid })
export type WebhookDeliveryBegun = z.infer<typeof WebhookDeliveryBegun>

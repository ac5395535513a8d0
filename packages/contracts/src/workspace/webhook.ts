import { z } from 'zod'
import { Instant, SlugId } from '../primitives.ts'

/** The events of webhooks. */
export const WEBHOOK_EVENTS = [
  'form.queued',
  'form.delivered',
  'form.answered',
  'form.dismissed',
  'form.expired',
  'user.entered_segment',
  'user.left_segment',
  'user.erased',
] as const
export const WebhookEvent = z.enum(WEBHOOK_EVENTS)
export type WebhookEvent = z.infer<typeof WebhookEvent>

/** Maximum number of endpoints in a project: each may get a delivery for every record. */
export const MAX_WEBHOOKS = 20
const MAX_URL_LENGTH = 2_000

/** Members that an endpoint may ask for in addition to the thin ones. */
export const WebhookInclude = z.enum(['traits'])
export type WebhookInclude = z.infer<typeof WebhookInclude>

const webhookCommon = {
  id: SlugId,
  /** Where deliveries are sent. Networks are checked when the dispatcher connects. */
  url: z.string().max(MAX_URL_LENGTH),
  /** The events that are sent. Absent: all, also those of later versions. */
  events: z.array(WebhookEvent).min(1).optional(),
  include: z.array(WebhookInclude).default([]),
  /** false: nothing is sent, and nothing is lost. Once it is true again, the endpoint continues where it stopped. */
  enabled: z.boolean().default(true),
}

/** An endpoint of webhooks in the catalog. */
export const Webhook = z.strictObject({
  ...webhookCommon,
  /** The secret that signs, `whsec_…`, sealed with the newest key of NEXTVISIT_SECRET_KEY. */
  secret: z.string(),
  /** The secret before, which signs as well until this instant. Sealed in the same way. */
  previousSecret: z.strictObject({ secret: z.string(), until: Instant }).optional(),
  /** When `apply` added the endpoint: it reports records from then on. */
  addedAt: Instant,
})
export type Webhook = z.infer<typeof Webhook>

/** An endpoint of webhooks in the workspace file. */
export const WebhookInFile = z.strictObject({
  ...webhookCommon,
  secret: z.string().regex(/^\$[A-Z_][A-Z0-9_]*$/, 'must name an environment variable, as $NAME'),
})
export type WebhookInFile = z.infer<typeof WebhookInFile>

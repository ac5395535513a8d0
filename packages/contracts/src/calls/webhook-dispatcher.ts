import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import {
  DeliveryStatus,
  WebhookDeliveries,
  WebhookDeliveryBegun,
  WebhookDeliveryDetail,
  WebhookEndpoints,
  WebhookReplayBegun,
  WebhookRetried,
} from '../public/webhooks.ts'
import { WebhookEvent } from '../workspace/webhook.ts'
import { projectFields } from './call-fields.ts'
import { type CallTable, defineCall, Done } from './define-call.ts'

/** Maximum number of deliveries in one answer. */
export const MAX_DELIVERIES_ASKED = 1_000

const endpointFields = { ...projectFields, endpointId: SlugId }

/** `endpointId`: only this one. Absent: all. */
const EndpointsQuery = z.object({ ...projectFields, endpointId: SlugId.optional() })
export type EndpointsQuery = z.infer<typeof EndpointsQuery>

/** An endpoint of any project that is disabled although the workspace file enables it, that fails, or that lags. */
const UnhealthyEndpoint = z.object({
  ...endpointFields,
  because: z.string().optional(),
  disabledAt: Instant.optional(),
  failingSince: Instant.optional(),
  /** When its oldest pending delivery was created, or sent again by hand. The record may be older: a replay reads old ones. */
  pendingSince: Instant.optional(),
})
export type UnhealthyEndpoint = z.infer<typeof UnhealthyEndpoint>

/** The position of a delivery in the deliveries of an endpoint: the time of its creation and its id. */
export const DeliveryPosition = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z_[0-9a-f-]{36}$/, 'must be `next` of a page of deliveries')
  .refine((position) => {
    const [at, id] = position.split('_')
    return Instant.safeParse(at).success && !position.startsWith('0000') && Uuid.safeParse(id).success
  }, 'must be `next` of a page of deliveries')

const DeliveriesQuery = z.object({
  ...endpointFields,
  status: DeliveryStatus.optional(),
  userId: Uuid.optional(),
  limit: z.number().int().min(1).max(MAX_DELIVERIES_ASKED),
  /** `next` of the previous page. */
  after: DeliveryPosition.optional(),
})
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>

const DeliveryQuery = z.object({
  ...endpointFields,
  /** Its id, or the `webhook-id` of its requests: of several deliveries with this one, the latest. */
  deliveryId: Uuid,
})
export type DeliveryQuery = z.infer<typeof DeliveryQuery>

/** Postgres has no year 0. */
const pastInstant = Instant.refine((text) => !text.startsWith('0000'), 'must be later than the year 0000')
/** Records of a time. `to`: exclusive; absent: until now. */
export const RetryRange = z.object({ from: pastInstant, to: pastInstant.optional() })
export type RetryRange = z.infer<typeof RetryRange>
/** `events`: absent, those of the endpoint. */
export const ReplayRange = RetryRange.extend({ events: z.array(WebhookEvent).min(1).optional() })

const ReplayCommand = z.object({ ...endpointFields, ...ReplayRange.shape })
export type ReplayCommand = z.infer<typeof ReplayCommand>
/** Maximum number of replays of an endpoint that are not complete: each may write a delivery for every record. */
export const MAX_UNFINISHED_REPLAYS = 10
export const TOO_MANY_REPLAYS = 'too many replays' as const
/** Maximum number of replays of an endpoint within 30 days: the deliveries of each are kept for 30 days after their end. */
export const MAX_REPLAYS_KEPT = 100
export const TOO_MANY_REPLAYS_KEPT = 'too many replays in 30 days' as const

const RetryCommand = z.object({ ...endpointFields, ...RetryRange.shape })
export type RetryCommand = z.infer<typeof RetryCommand>

const EndpointCommand = z.object(endpointFields)
export type EndpointCommand = z.infer<typeof EndpointCommand>

/** Maximum number of tests of an endpoint that are pending. Calls at the same time may exceed it a little. */
export const MAX_PENDING_TESTS = 100
/** Why a command has no effect. */
export const TOO_MANY_TESTS = 'too many tests' as const
/** Maximum number of tests of an endpoint within 24 hours: each is kept for 30 days. */
export const MAX_TESTS_A_DAY = 1_000
export const TOO_MANY_TESTS_A_DAY = 'too many tests in a day' as const
export const TEST_IS_SENT_ONCE = 'a test is sent once' as const
export const DISABLED_IN_FILE = 'disabled in the workspace file' as const

const ListenQuery = z.object({
  ...projectFields,
  /** Absent: all. */
  events: z.array(WebhookEvent).optional(),
  /** A listener that the caller has chosen. It is forgotten 30 s after its last question. */
  listenerId: Uuid,
  /** The secret that signs what the listener hears. */
  secret: z.string().max(100),
})
export type ListenQuery = z.infer<typeof ListenQuery>
/** A signed delivery, as it would be sent. */
const HeardDelivery = z.object({ headers: z.record(z.string(), z.string()), body: z.string() })
export type HeardDelivery = z.infer<typeof HeardDelivery>
/** Maximum number of listeners of a process: each holds deliveries in memory. */
export const MAX_LISTENERS = 50
export const TOO_MANY_LISTENERS = 'too many listeners' as const
const ListenAnswer = z.object({
  deliveries: z.array(HeardDelivery),
  /** Deliveries that came while nobody asked, and did not fit. */
  missed: z.number().int(),
})
export type ListenAnswer = z.infer<typeof ListenAnswer>

/** Not found: the project has no endpoint with this id, or the endpoint no such delivery. */
export const webhookDispatcherCalls = {
  /** Reads the endpoints of a project, in the order of the workspace file. */
  readEndpoints: defineCall({ path: '/internal/webhooks/read', question: EndpointsQuery, answer: WebhookEndpoints }),
  /** Reads the endpoints of all projects that need attention: at most 1,000. */
  readUnhealthyEndpoints: defineCall({
    path: '/internal/webhooks/unhealthy/read',
    question: z.object({}),
    answer: z.object({ endpoints: z.array(UnhealthyEndpoint) }),
  }),
  readDeliveries: defineCall({
    path: '/internal/webhooks/deliveries/list',
    question: DeliveriesQuery,
    answer: WebhookDeliveries,
  }),
  readDelivery: defineCall({
    path: '/internal/webhooks/deliveries/read',
    question: DeliveryQuery,
    answer: WebhookDeliveryDetail,
  }),
  /** Begins a replay. */
  replay: defineCall({
    path: '/internal/webhooks/replay',
    question: ReplayCommand,
    answer: z.union([WebhookReplayBegun, z.literal([TOO_MANY_REPLAYS, TOO_MANY_REPLAYS_KEPT])]),
  }),
  /** Sends an ended delivery again, and a pending one now. */
  retryDelivery: defineCall({
    path: '/internal/webhooks/deliveries/retry',
    question: DeliveryQuery,
    answer: z.union([WebhookDeliveryBegun, z.literal(TEST_IS_SENT_ONCE)]),
  }),
  /** Sends failed deliveries again. */
  retryFailed: defineCall({ path: '/internal/webhooks/retry', question: RetryCommand, answer: WebhookRetried }),
  /** Sends one request of the type `webhook.test`, once, also to a disabled endpoint. */
  testEndpoint: defineCall({
    path: '/internal/webhooks/test',
    question: EndpointCommand,
    answer: z.union([WebhookDeliveryBegun, z.literal([TOO_MANY_TESTS, TOO_MANY_TESTS_A_DAY])]),
  }),
  /** Enables an endpoint that a 410 or five days of failures have disabled. No effect on an enabled one. */
  enableEndpoint: defineCall({
    path: '/internal/webhooks/enable',
    question: EndpointCommand,
    answer: z.union([Done, z.literal(DISABLED_IN_FILE)]),
  }),
  /** Waits up to some seconds for deliveries to a listener. The first question begins the listening. */
  listen: defineCall({
    path: '/internal/webhooks/listen',
    question: ListenQuery,
    answer: z.union([ListenAnswer, z.literal(TOO_MANY_LISTENERS)]),
  }),
} satisfies CallTable

import {
  DeliveryPosition,
  DeliveryStatus,
  Instant,
  type OperatorChangeDetails,
  type OperatorChangeKind,
  projectFields,
  ReplayRange,
  RetryRange,
  SlugId,
  Uuid,
  WebhookDelivery,
  WebhookDeliveryBegun,
  WebhookDeliveryDetail,
  WebhookEndpoint,
  WebhookEvent,
  WebhookReplayBegun,
  WebhookRetried,
} from '@nextvisit/contracts'
import type { WantedChange } from '@nextvisit/operator-changes/wanted-change'
import { z } from 'zod'
import { defineRoute, Nothing } from '../http/define-route.ts'

const EndpointPath = z.strictObject({ ...projectFields, endpointId: SlugId })
export type EndpointPath = z.infer<typeof EndpointPath>

const DeliveryPath = EndpointPath.extend({ deliveryId: Uuid })
export type DeliveryPath = z.infer<typeof DeliveryPath>

/**
 * Members of every answer about endpoints. `at`: time of the answer, by the console's clock. `countedUpTo`: counts of deliveries end at
 * this number.
 */
const aboutEndpoints = { at: Instant, isStale: z.boolean(), countedUpTo: z.number() }

/** `userName`: may be masked; null: not known, or a test. */
const ShownDelivery = WebhookDelivery.extend({ userName: z.string().nullable() })
export type ShownDelivery = z.infer<typeof ShownDelivery>

/**
 * Why the request body and the response bodies of a delivery are missing. `masked`: the viewer has not asked for them. `erased`:
 * the user is erased. `unknown`: the gateway cannot tell whether the user is erased.
 */
const Withheld = z.enum(['masked', 'erased', 'unknown'])
export type Withheld = z.infer<typeof Withheld>

/** Refuses a period that ends before it begins. ISO instants sort by time. */
const hasPeriod = ({ from, to }: { readonly from: string; readonly to?: string | undefined }): boolean =>
  to === undefined || from < to
const PERIOD = { path: ['to'], error: 'must be later than from' }

const inLog = ({ organization, project, endpointId }: EndpointPath) => ({ organization, project, endpointId })
const deliveryInLog = ({ deliveryId, ...path }: DeliveryPath) => ({ ...inLog(path), deliveryId })
const periodInLog = ({ from, to }: RetryRange) => ({ from, ...(to !== undefined && { to }) })

function changeOf(
  kind: OperatorChangeKind,
  { organization, project, endpointId: target }: EndpointPath,
  details: OperatorChangeDetails = {},
): WantedChange {
  return { kind, organization, project, target, details }
}

export const webhooksApi = {
  /** Lists the endpoints of a project with their health. Viewers see only the host of an address: its path may be a secret. */
  listEndpoints: defineRoute({
    role: 'viewer',
    input: z.strictObject(projectFields),
    answer: z.strictObject({ ...aboutEndpoints, endpoints: z.array(WebhookEndpoint) }),
  }),
  readEndpoint: defineRoute({
    role: 'viewer',
    input: EndpointPath,
    answer: z.strictObject({
      ...aboutEndpoints,
      endpoint: WebhookEndpoint,
      /** The events that the endpoint wants. */
      wanted: z.array(WebhookEvent),
    }),
  }),
  /** Lists a page of the deliveries of an endpoint, newest first. */
  listDeliveries: defineRoute({
    role: 'viewer',
    input: EndpointPath.extend({
      status: DeliveryStatus.optional(),
      userId: Uuid.optional(),
      after: DeliveryPosition.optional(),
    }),
    answer: z.strictObject({ deliveries: z.array(ShownDelivery), next: z.string().nullable(), isStale: z.boolean() }),
  }),
  readDelivery: defineRoute({
    role: 'viewer',
    input: DeliveryPath,
    answer: WebhookDeliveryDetail.extend({ withheld: Withheld.nullable() }),
  }),
  revealDelivery: defineRoute({ role: 'viewer', input: DeliveryPath, answer: Nothing, logged: deliveryInLog }),
  /** Lists the latest deliveries of a user to each endpoint of the project, newest first. */
  listUserDeliveries: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...projectFields, userId: Uuid }),
    answer: z.strictObject({
      deliveries: z.array(WebhookDelivery.extend({ endpointId: SlugId })),
      /** Endpoints of the project. `hasMore`: it has older deliveries of the user. */
      endpoints: z.array(z.strictObject({ endpointId: SlugId, hasMore: z.boolean() })),
      isStale: z.boolean(),
    }),
  }),
  /** Enables an endpoint that a 410 or five days of failures have disabled. */
  enableEndpoint: defineRoute({
    role: 'operator',
    input: EndpointPath,
    answer: Nothing,
    logged: inLog,
    change: (path) => changeOf('webhook.enable', path),
  }),
  /** Sends one request of the type `webhook.test`. The delivery shows the result. */
  testEndpoint: defineRoute({
    role: 'operator',
    input: EndpointPath,
    answer: WebhookDeliveryBegun,
    logged: inLog,
    change: (path, answer) => changeOf('webhook.test', path, { ...answer }),
  }),
  retryDelivery: defineRoute({
    role: 'operator',
    input: DeliveryPath,
    answer: WebhookDeliveryBegun,
    logged: deliveryInLog,
    change: (path) => changeOf('webhook.retry', path, { deliveryId: path.deliveryId }),
  }),
  /** Retries the failed deliveries of a period. */
  retryFailed: defineRoute({
    role: 'operator',
    input: EndpointPath.extend(RetryRange.shape).refine(hasPeriod, PERIOD),
    answer: WebhookRetried,
    logged: (input) => ({ ...inLog(input), ...periodInLog(input) }),
    change: (input, answer) => changeOf('webhook.retry', input, { ...periodInLog(input), ...answer }),
  }),
  startWebhookReplay: defineRoute({
    role: 'operator',
    input: EndpointPath.extend(ReplayRange.shape).refine(hasPeriod, PERIOD),
    answer: WebhookReplayBegun,
    logged: (input) => ({
      ...inLog(input),
      ...periodInLog(input),
      ...(input.events && { events: input.events.join(', ') }),
    }),
    change: (input, answer) =>
      changeOf('webhook.replay', input, {
        ...periodInLog(input),
        ...(input.events && { events: input.events.join(', ') }),
        ...answer,
      }),
  }),
}

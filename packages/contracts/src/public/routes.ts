import type { KeyKind } from '../primitives.ts'

/** Maximum size of a body in bytes, as sent and as gzip inflates it: 100 KB (decisions.md, Order of checks). */
export const MAX_BODY_BYTES = 102_400
/** Maximum size of a batch in bytes (decisions.md, Batch). */
const MAX_BATCH_BYTES = 512_000

/** Static properties of a public route. */
export interface RouteSignature {
  /** `POST` has a body, unless `hasNoBody`. The HTTP server dispatches fixed patterns of `POST` before Express. `GET` reads. */
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path with `{name}` for a variable part. */
  readonly pattern: string
  /** Other paths of the same route, which some libraries use. */
  readonly aliases?: readonly string[]
  /** The accepted kind of key. Routes for SDK keys answer CORS. */
  readonly keyKind: KeyKind
  /** Location of the key, if not only `X-Api-Key`: the user of HTTP Basic, or `writeKey` in the body. */
  readonly keyIn?: 'basic-or-body'
  /** The permission that the key needs. Keys without it get 403. */
  readonly permission?: 'mayErase'
  /** Maximum size of the inflated body. Default: {@link MAX_BODY_BYTES}. */
  readonly maxBodyBytes?: number
  /** True if a body may have many items, each with an answer of its own. */
  readonly takesMany?: true
  /** It commands a service, and records nothing in the log: an `Idempotency-Key` has no meaning. */
  readonly isCommand?: true
  /** A `POST` whose body is not read. */
  readonly hasNoBody?: true
}

/**
 * Returns all paths of a route. Segment's libraries join a host, which may end with `/v1/`, and a path of their own: a slash may
 * be doubled, or at the end.
 */
export function pathsOf({ pattern, aliases = [], keyIn }: RouteSignature): readonly string[] {
  const paths = [pattern, ...aliases]
  return keyIn ? paths.flatMap(withDoubledSlash).flatMap((path) => [path, `${path}/`]) : paths
}

function withDoubledSlash(path: string): readonly string[] {
  return [path, `/${path}`, path.replace(/(?!^)\//, '//')]
}

export function maxBodyBytesOf({ maxBodyBytes = MAX_BODY_BYTES }: RouteSignature): number {
  return maxBodyBytes
}

const MANY = { keyKind: 'admin', maxBodyBytes: MAX_BATCH_BYTES, takesMany: true } as const
const SEGMENT = { ...MANY, keyIn: 'basic-or-body' } as const
const COMMANDS = { method: 'POST', keyKind: 'admin', isCommand: true } as const
const ERASES = { keyKind: 'admin', permission: 'mayErase' } as const

/** All routes that take a key, by operation id. This table drives the HTTP server, Express and OpenAPI. */
export const ROUTES = {
  identifyUser: { method: 'POST', pattern: '/v2/admin/identify-user', keyKind: 'admin' },
  trackEvent: { method: 'POST', pattern: '/v2/admin/track-event', keyKind: 'admin' },
  giveAnswers: { method: 'POST', pattern: '/v2/admin/answers', keyKind: 'admin' },
  recordBatch: { method: 'POST', pattern: '/v2/admin/batch', ...MANY },
  segmentIdentify: { method: 'POST', pattern: '/v1/identify', aliases: ['/v1/i'], ...SEGMENT },
  segmentTrack: { method: 'POST', pattern: '/v1/track', aliases: ['/v1/t'], ...SEGMENT },
  segmentBatch: { method: 'POST', pattern: '/v1/batch', aliases: ['/v1/import', '/v1/b'], ...SEGMENT },
  segmentPage: { method: 'POST', pattern: '/v1/page', aliases: ['/v1/p'], ...SEGMENT },
  segmentScreen: { method: 'POST', pattern: '/v1/screen', aliases: ['/v1/s'], ...SEGMENT },
  segmentGroup: { method: 'POST', pattern: '/v1/group', aliases: ['/v1/g'], ...SEGMENT },
  segmentAlias: { method: 'POST', pattern: '/v1/alias', aliases: ['/v1/a'], ...SEGMENT },
  visit: { method: 'POST', pattern: '/v2/sdk/identify-user', keyKind: 'sdk' },
  trackSdkEvent: { method: 'POST', pattern: '/v2/sdk/track-event', keyKind: 'sdk' },
  giveSdkAnswers: { method: 'POST', pattern: '/v2/sdk/answers', keyKind: 'sdk' },
  getUser: { method: 'GET', pattern: '/v2/admin/users/{userName}', keyKind: 'admin' },
  findUser: { method: 'GET', pattern: '/v2/admin/users', keyKind: 'admin' },
  getUserForms: { method: 'GET', pattern: '/v2/admin/users/{userName}/forms', keyKind: 'admin' },
  getUsage: { method: 'GET', pattern: '/v2/admin/usage', keyKind: 'admin' },
  listTraits: { method: 'GET', pattern: '/v2/admin/traits', keyKind: 'admin' },
  listEvents: { method: 'GET', pattern: '/v2/admin/events', keyKind: 'admin' },
  listSegments: { method: 'GET', pattern: '/v2/admin/segments', keyKind: 'admin' },
  listForms: { method: 'GET', pattern: '/v2/admin/forms', keyKind: 'admin' },
  getFormResults: { method: 'GET', pattern: '/v2/admin/forms/{formId}/results', keyKind: 'admin' },
  listFormAnswers: { method: 'GET', pattern: '/v2/admin/forms/{formId}/answers', keyKind: 'admin' },
  listRefusals: { method: 'GET', pattern: '/v2/admin/refusals', keyKind: 'admin' },
  requestErasure: { method: 'POST', pattern: '/v2/admin/erasures', ...ERASES, maxBodyBytes: MAX_BATCH_BYTES },
  listErasures: { method: 'GET', pattern: '/v2/admin/erasures', ...ERASES },
  getErasure: { method: 'GET', pattern: '/v2/admin/erasures/{erasureId}', ...ERASES },
  listSuppressions: { method: 'GET', pattern: '/v2/admin/suppressions', ...ERASES },
  liftSuppression: { method: 'DELETE', pattern: '/v2/admin/suppressions/{userName}', ...ERASES },
  listWebhooks: { method: 'GET', pattern: '/v2/admin/webhooks', keyKind: 'admin' },
  listDeliveries: { method: 'GET', pattern: '/v2/admin/webhooks/{endpointId}/deliveries', keyKind: 'admin' },
  getDelivery: { method: 'GET', pattern: '/v2/admin/webhooks/{endpointId}/deliveries/{deliveryId}', keyKind: 'admin' },
  replayWebhook: { pattern: '/v2/admin/webhooks/{endpointId}/replay', ...COMMANDS },
  retryDeliveries: { pattern: '/v2/admin/webhooks/{endpointId}/retry', ...COMMANDS },
  retryDelivery: {
    pattern: '/v2/admin/webhooks/{endpointId}/deliveries/{deliveryId}/retry',
    ...COMMANDS,
    hasNoBody: true,
  },
  testWebhook: { pattern: '/v2/admin/webhooks/{endpointId}/test', ...COMMANDS, hasNoBody: true },
  enableWebhook: { pattern: '/v2/admin/webhooks/{endpointId}/enable', ...COMMANDS, hasNoBody: true },
  listSegmentUsers: { method: 'GET', pattern: '/v2/admin/segments/{segmentId}/users', keyKind: 'admin' },
} as const satisfies Record<string, RouteSignature>

export type OperationId = keyof typeof ROUTES

const MAX_BYTES_BY_PATH = new Map<string, number>(
  Object.values<RouteSignature>(ROUTES).flatMap((route) => pathsOf(route).map((path) => [path, maxBodyBytesOf(route)])),
)

/** Returns the maximum size in bytes of an inflated body for a path. */
export function maxBodyBytesAt(path: string): number {
  return MAX_BYTES_BY_PATH.get(path) ?? MAX_BODY_BYTES
}

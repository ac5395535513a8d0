import type { CatalogKey, CatalogProject } from '@nextvisit/catalog'
import type { KeyKind } from '@nextvisit/contracts'
import type { JsonObject, ParsedJson } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { IdempotentRequest } from '../idempotency/idempotent-request.ts'
import type { Answer } from './answer.ts'
import { MAX_BATCH_BYTES, MAX_BODY_BYTES, type Refusal } from './refusals.ts'

/** What is known of a route without running it. */
export interface RouteSignature {
  /** `POST` records: the HTTP server itself dispatches it, before Express, so its pattern is fixed. `GET` reads. */
  readonly method: 'GET' | 'POST'
  /** With `{name}` for a part that varies. */
  readonly pattern: string
  /** Which kind of key it takes. Routes for SDK keys answer CORS. */
  readonly keyKind: KeyKind
  /** Where the key stands, if not in `X-Api-Key`: the user of HTTP Basic, or `writeKey` in the body. */
  readonly keyIn?: 'basic-or-body'
  /** Of the body, inflated. Default: {@link MAX_BODY_BYTES}. */
  readonly maxBodyBytes?: number
}

export function maxBodyBytesOf({ maxBodyBytes = MAX_BODY_BYTES }: RouteSignature): number {
  return maxBodyBytes
}

const SEGMENT = { keyKind: 'admin', keyIn: 'basic-or-body', maxBodyBytes: MAX_BATCH_BYTES } as const

/** Every route that takes a key, by its operation's id: it drives the server, Express and OpenAPI alike. */
export const ROUTES = {
  identifyUser: { method: 'POST', pattern: '/v2/admin/identify-user', keyKind: 'admin' },
  trackEvent: { method: 'POST', pattern: '/v2/admin/track-event', keyKind: 'admin' },
  recordBatch: { method: 'POST', pattern: '/v2/admin/batch', keyKind: 'admin', maxBodyBytes: MAX_BATCH_BYTES },
  segmentIdentify: { method: 'POST', pattern: '/v1/identify', ...SEGMENT },
  segmentTrack: { method: 'POST', pattern: '/v1/track', ...SEGMENT },
  segmentBatch: { method: 'POST', pattern: '/v1/batch', ...SEGMENT },
  segmentPage: { method: 'POST', pattern: '/v1/page', ...SEGMENT },
  segmentScreen: { method: 'POST', pattern: '/v1/screen', ...SEGMENT },
  segmentGroup: { method: 'POST', pattern: '/v1/group', ...SEGMENT },
  segmentAlias: { method: 'POST', pattern: '/v1/alias', ...SEGMENT },
  visit: { method: 'POST', pattern: '/v2/sdk/identify-user', keyKind: 'sdk' },
  trackSdkEvent: { method: 'POST', pattern: '/v2/sdk/track-event', keyKind: 'sdk' },
  getUser: { method: 'GET', pattern: '/v2/admin/users/{userName}', keyKind: 'admin' },
  findUser: { method: 'GET', pattern: '/v2/admin/users', keyKind: 'admin' },
  getUserForms: { method: 'GET', pattern: '/v2/admin/users/{userName}/forms', keyKind: 'admin' },
  getUsage: { method: 'GET', pattern: '/v2/admin/usage', keyKind: 'admin' },
  listTraits: { method: 'GET', pattern: '/v2/admin/traits', keyKind: 'admin' },
  listEvents: { method: 'GET', pattern: '/v2/admin/events', keyKind: 'admin' },
  listSegments: { method: 'GET', pattern: '/v2/admin/segments', keyKind: 'admin' },
  listRefusals: { method: 'GET', pattern: '/v2/admin/refusals', keyKind: 'admin' },
  listSegmentUsers: { method: 'GET', pattern: '/v2/admin/segments/{segmentId}/users', keyKind: 'admin' },
} as const satisfies Record<string, RouteSignature>

export type OperationId = keyof typeof ROUTES

const MAX_BYTES_BY_PATTERN = new Map<string, number>(
  Object.values<RouteSignature>(ROUTES).map((route) => [route.pattern, maxBodyBytesOf(route)]),
)

/** Of a body sent to this path, inflated. */
export function maxBodyBytesAt(path: string): number {
  return MAX_BYTES_BY_PATTERN.get(path) ?? MAX_BODY_BYTES
}

/** A request after every check that comes before the body's own rules (decisions.md, Order of checks). */
export interface CheckedRequest {
  /** Equal to `X-Request-Id`, and the id of the record that the request becomes. */
  readonly requestId: string
  /** The W3C `traceparent` of everything that this request causes. */
  readonly traceparent: string
  /** The gateway's clock when it had read the request, ms since the epoch. */
  readonly receivedMs: number
  /** The end of the request's one budget, a `performance.now()` instant. */
  readonly deadlineAt: number
  /** When admission stops asking, and admits unchecked: a `performance.now()` instant. */
  readonly admissionDeadlineAt: number
  readonly key: CatalogKey
  readonly project: CatalogProject
  /** The caller's own, as far as trusted proxies tell. Never logged, never recorded. */
  readonly callerAddress: () => string | undefined
  /** Empty for a route without a body. */
  readonly body: JsonObject
  /** Of an item of a batch: whether an item before it identifies its user. */
  readonly isIdentified?: Promise<boolean>
  /** Of an item of a batch: what keeps the records of its user in the order of the items. */
  readonly sequence?: RecordSequence
  /** By its name in lower case. */
  readonly header: (name: string) => string | undefined
  /** Takes the tokens of the key's rate limit that a request of these items costs, all or none: to be called before anything is recorded. */
  readonly pay: (items: readonly unknown[]) => Promise<Refusal | { readonly outcome: 'taken' }>
  /** To be called for each of its items that is refused, with the item's position and what was sent. */
  readonly onItemRefused: (refusal: Refusal, item: number, body: unknown) => void
  /** By its `Idempotency-Key`; `none` without the header. */
  readonly idempotent: IdempotentRequest | 'none' | 'malformed'
  /** What stands for `{name}` in the route's pattern, decoded; and the query. Empty for a route that records. */
  readonly parameters: URLSearchParams
}

/** A row of the route table with what it does. */
export interface Route extends RouteSignature {
  /** Default: `parseJson`. */
  readonly parseBody?: (bytes: Uint8Array) => ParsedJson
  /** What of the body a repeat under the same `Idempotency-Key` must have in common. Default, and undefined: all. */
  readonly repeatedContent?: (body: JsonObject) => string | undefined
  /** Knows neither Express nor Node's http. */
  readonly handle: (request: CheckedRequest) => Promise<Answer | Refusal>
}

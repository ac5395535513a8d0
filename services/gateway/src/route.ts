import type { CatalogKey, CatalogProject } from '@nextvisit/catalog'
import type { JsonObject } from '@nextvisit/domain'
import type { KeyedRequest } from './idempotency/keyed-request.ts'
import type { Refusal } from './refusal.ts'
import type { RouteSignature } from './route-table.ts'

/** A request after every check that comes before the body's own rules (decisions.md, Order of checks). */
export interface CheckedRequest {
  /** Equal to `X-Request-Id`, and the id of the record that the request becomes. */
  readonly requestId: string
  /** The W3C `traceparent` of what comes of this request. */
  readonly traceparent: string
  /** The gateway's clock when it had read the request, ms since the epoch. */
  readonly receivedMs: number
  /** The end of the request's one budget, a `performance.now()` instant. */
  readonly deadlineAt: number
  readonly key: CatalogKey
  readonly project: CatalogProject
  /** The caller's own, as far as proxies are trusted to tell. Never logged, never recorded. */
  readonly callerAddress: () => string | undefined
  /** Empty for a route without a body. */
  readonly body: JsonObject
  /** What its `Idempotency-Key` makes of it; `none` without the header. */
  readonly keyed: KeyedRequest | 'none' | 'malformed'
  /** What stands for `{name}` in the route's pattern, decoded. */
  readonly pathParameters: ReadonlyMap<string, string>
  readonly query: URLSearchParams
}

export interface Answer {
  readonly outcome: 'answered'
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
  /** Done once the answer is written; the caller does not wait for it. Must not reject. */
  readonly afterwards?: () => Promise<void>
}

/** A row of the route table with what it does. */
export interface Route extends RouteSignature {
  /** Knows neither Express nor Node's http. */
  readonly handle: (request: CheckedRequest) => Promise<Answer | Refusal>
}

export function answer(status: number, body: object): Answer {
  return { outcome: 'answered', status, body }
}

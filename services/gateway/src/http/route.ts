import type { CatalogKey, CatalogProject } from '@nextvisit/catalog'
import type { RouteSignature, VisitAnswered } from '@nextvisit/contracts'
import type { JsonObject, ParsedJson } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { Answer } from '../api/answer.ts'
import type { Refusal } from '../api/refusals.ts'
import type { Payment } from '../billing/payments.ts'
import type { IdempotentRequest } from './idempotent-request.ts'

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
  readonly pay: (items: readonly unknown[]) => Promise<Payment>
  /** To be called for each of its items that is refused, with the item's position and what was sent. */
  readonly onItemRefused: (refusal: Refusal, item: number, body: unknown) => void
  /** By its `Idempotency-Key`; `none` without the header. */
  readonly idempotent: IdempotentRequest | 'none' | 'malformed'
  /** What stands for `{name}` in the route's pattern, decoded; and the query. Empty for a route that records. */
  readonly parameters: URLSearchParams
}

/** An answer, and what it makes true. */
export interface RouteAnswer extends Answer {
  /** The fact that is true once the answer is written. Kept with the answer, since a repeat makes it true as well. */
  readonly confirms?: VisitAnswered | undefined
}

/** A row of the route table with what it does. */
export interface Route extends RouteSignature {
  /** Default: `parseJson`. */
  readonly parseBody?: (bytes: Uint8Array) => ParsedJson
  /** What of the body a repeat under the same `Idempotency-Key` must have in common. Default, and undefined: all. */
  readonly repeatedContent?: (body: JsonObject) => string | undefined
  /** Knows neither Express nor Node's http. */
  readonly handle: (request: CheckedRequest) => Promise<RouteAnswer | Refusal>
  /** Runs once an answer is written; the caller does not wait for it. Must not reject. */
  readonly afterwards?: (answer: RouteAnswer, traceparent: string) => Promise<void> | undefined
}

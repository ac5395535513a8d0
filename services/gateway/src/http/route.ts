import type { IncomingMessage } from 'node:http'
import type { CatalogKey, CatalogProject } from '@nextvisit/catalog'
import type { DeliveredForm, RouteSignature, VisitAnswered } from '@nextvisit/contracts'
import type { JsonObject, ParsedJson } from '@nextvisit/domain'
import type { Refusal } from '../refusals/refusals.ts'
import type { Idempotency } from '../idempotency/idempotent-request.ts'

/**
 * A request after every check that comes before the body's own rules (decisions.md, Order of checks). An item of a batch
 * becomes the request that its single route would get.
 */
export interface CheckedRequest {
  /** Id of the record that the request becomes. Equal to `X-Request-Id`, except for an item of a batch. */
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
  /** Returns the caller's own address, as far as trusted proxies tell. Never logged, never recorded. */
  readonly callerAddress: () => string | undefined
  /** Empty for a route without a body. */
  readonly body: JsonObject
  /** Returns a header by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly idempotency: Idempotency
  /** The values of `{name}` in the route's pattern, decoded, and the query. Empty for a `POST` with a fixed path. */
  readonly parameters: URLSearchParams
}

/** The caller closed the connection: there is nothing to answer. */
export interface Aborted {
  readonly outcome: 'aborted'
}

/** The answer of a route. */
export interface Answer {
  readonly outcome: 'answered'
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
  /** `body` as JSON, if it had to be known before the answer is written. */
  readonly text?: string
  /** The fact that is true once the answer is written. Kept with the answer, since a repeat makes it true as well. */
  readonly confirms?: VisitAnswered | undefined
  /** The form that a visit gets. Kept with the answer. Its content is in `text` only. */
  readonly form?: DeliveredForm | undefined
}

export function answer(status: number, body: object): Answer {
  return { outcome: 'answered', status, body }
}

/** The end of a request, or of an item of a batch. */
export type Result = Answer | Refusal

export function isResult(one: { readonly outcome: string }): one is Result {
  return one.outcome === 'answered' || one.outcome === 'refused'
}

/** An item of a batch that was refused. */
export interface RefusedItem {
  readonly refusal: Refusal
  /** Its position in the batch. */
  readonly item: number
  /** As the caller sent it. */
  readonly body: unknown
}

/** The result of a route, with the items of the request that were refused. */
export type Handled = Result & { readonly refusedItems?: readonly RefusedItem[] }

/** A row of the route table with its handler. */
export type Route = Handler & (OneItem | ManyItems)

interface Handler extends RouteSignature {
  /** Default: `parseJson`. */
  readonly parseBody?: (bytes: Uint8Array) => ParsedJson
  /** Returns the part of the body that a repeat under one `Idempotency-Key` must share. Default, and undefined: all. */
  readonly repeatedContent?: (body: JsonObject) => string | undefined
  /** Answers a request that has paid for its body. Knows neither Express nor Node's http. */
  readonly handle: (request: CheckedRequest, items: readonly unknown[]) => Promise<Handled>
  /** Runs once an answer is written; the caller does not wait for it. Must not reject. */
  readonly afterwards?: (answer: Answer, traceparent: string) => Promise<void> | undefined
}

/** The body is the one item. */
interface OneItem {
  readonly itemsOf?: undefined
  readonly maxItems?: undefined
}

interface ManyItems {
  /** Returns the items of a batch. */
  readonly itemsOf: (request: CheckedRequest) => readonly unknown[] | Refusal
  /** Maximum number of items. A body with more pays for as many. */
  readonly maxItems: number
}

/** Returns the path of a request without the query. */
export function pathOf({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  const queryAt = url.indexOf('?')
  return queryAt === -1 ? url : url.slice(0, queryAt)
}

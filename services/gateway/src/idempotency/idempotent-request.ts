import { hash } from 'node:crypto'
import type { CatalogKey } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { keyedRecordId } from '@nextvisit/domain'

/** The identity of a request with an `Idempotency-Key` (decisions.md, Retries). */
export interface IdempotentRequest {
  /** As the caller gave it. */
  readonly key: string
  /** Id of its record, and of the request. Requests with one `name` and another route or body have other ids. */
  readonly recordId: string
  /**
   * Name under which the answer is kept: a hash of project, kind and environment of the API key, and the key, which may
   * contain a name.
   */
  readonly name: string
}

/** `none`: the request has no `Idempotency-Key`. */
export type Idempotency = IdempotentRequest | 'none' | 'malformed'

/** The key and the content by which a repeat is recognized. */
export interface IdempotentContent {
  /** A header as Node gives it (a repeated one is joined by `, `, so malformed), or a member of a body. */
  readonly key: unknown
  /** Tells apart the records of one key: the position in the batch that has the key, or the part of a message. */
  readonly suffix?: string | number
  /** Pattern of the route. */
  readonly route: string
  /** The body, inflated. */
  readonly bytes: Uint8Array | string
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/

/** Returns true for 1 to 255 visible ASCII characters. */
export function isIdempotencyKey(text: string): boolean {
  return VISIBLE_ASCII.test(text)
}

/** Derives the ids of a request with this API key from its `Idempotency-Key`. */
export function idempotentRequestOf(
  apiKey: { readonly entry: Pick<CatalogKey['entry'], 'kind' | 'environment'>; readonly project: ProjectRef },
  { key, suffix, route, bytes }: IdempotentContent,
): Idempotency {
  if (key === undefined) return 'none'
  if (typeof key !== 'string' || !isIdempotencyKey(key)) return 'malformed'
  const { organization, project } = apiKey.project
  const { kind, environment } = apiKey.entry
  const bodySha256 = hash('sha256', bytes)
  // A caller's key has no space, so it never equals a key with a suffix.
  const keyOfRecord = suffix === undefined ? key : `${key} ${suffix}`
  return {
    key,
    recordId: keyedRecordId({ organization, project, kind, environment, route, key: keyOfRecord, bodySha256 }),
    name: hash('sha256', `${organization}/${project}/${kind}/${environment}/${keyOfRecord}`, 'base64url'),
  }
}

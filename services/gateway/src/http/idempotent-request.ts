import { hash } from 'node:crypto'
import type { Environment, KeyKind, ProjectRef } from '@nextvisit/contracts'
import { keyedRecordId } from '@nextvisit/domain'

/** What identifies a request with an `Idempotency-Key` (decisions.md, Retries). */
export interface IdempotentRequest {
  /** As the caller gave it. */
  readonly key: string
  /** Of its record, and the request's own: for one name it differs where the route or the body does. */
  readonly recordId: string
  /** Project, kind and environment of the API key, and key: answers are kept under this. */
  readonly name: string
}

/** What a caller sends, as far as a repeat of it is known by it. */
export interface IdempotentContent {
  /** The header, as Node gives it: one that came twice is joined by `, `, so it is malformed. Or a member of a body. */
  readonly key: unknown
  /** What tells apart the records of one key: the position in a batch whose key it is, the part of a message. */
  readonly suffix?: string | number
  /** The route's pattern. */
  readonly route: string
  /** The body, inflated. */
  readonly bytes: Uint8Array | string
}

interface IdempotentRequestParts extends IdempotentContent {
  readonly project: ProjectRef
  /** The API key that came with it. */
  readonly apiKey: { readonly kind: KeyKind; readonly environment: Environment }
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/

export function isIdempotencyKey(text: string): boolean {
  return VISIBLE_ASCII.test(text)
}

/** `none`: there is no key. */
export function idempotentRequestOf(parts: IdempotentRequestParts): IdempotentRequest | 'none' | 'malformed' {
  const { key, suffix, route, bytes } = parts
  if (key === undefined) return 'none'
  if (typeof key !== 'string' || !isIdempotencyKey(key)) return 'malformed'
  const { organization, project } = parts.project
  const { kind, environment } = parts.apiKey
  const bodySha256 = hash('sha256', bytes)
  // A caller's own key holds no space, so no two keys can meet.
  const keyOfRecord = suffix === undefined ? key : `${key} ${suffix}`
  return {
    key,
    recordId: keyedRecordId({ organization, project, kind, environment, route, key: keyOfRecord, bodySha256 }),
    name: `${organization}/${project}/${kind}/${environment}/${keyOfRecord}`,
  }
}

import { createHash } from 'node:crypto'
import { keyedRecordId } from '@nextvisit/domain'

/** What a request with an `Idempotency-Key` is known by (decisions.md, Retries). */
export interface KeyedRequest {
  /** Of its record, and the request's own: for one name it differs where the route or the body does. */
  readonly recordId: string
  /** Project and key: what is kept is kept under this. */
  readonly name: string
}

export interface KeyedRequestParts {
  /** The header, as Node gives it: one that came twice is joined by `, `, and so is malformed. */
  readonly header: string | string[] | undefined
  readonly project: { readonly organization: string; readonly project: string }
  /** The route's pattern. */
  readonly route: string
  /** The body, inflated. */
  readonly bytes: Uint8Array
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/

/** `none`: there is no such header. */
export function keyedRequestOf(parts: KeyedRequestParts): KeyedRequest | 'none' | 'malformed' {
  const { header: key, route, bytes } = parts
  if (key === undefined) return 'none'
  if (typeof key !== 'string' || !VISIBLE_ASCII.test(key)) return 'malformed'
  const { organization, project } = parts.project
  const bodySha256 = createHash('sha256').update(bytes).digest('hex')
  return {
    recordId: keyedRecordId({ organization, project, route, key, bodySha256 }),
    name: `${organization}/${project}/${key}`,
  }
}

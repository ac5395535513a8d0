import type { IncomingMessage } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import type { RouteSignature } from '@nextvisit/contracts'
import { hashApiKey, parseApiKey, memoize } from '@nextvisit/domain'

const MAX_CACHED_KEYS = 10_000
/** A key's text is between quotes. Each quantifier is followed by a character that it does not match: linear time. */
const WRITE_KEY = /"writeKey"\s*:\s*"(nv_[0-9A-Za-z_]{1,64})"/
const BASIC = /^basic ([0-9A-Za-z+/]{1,200}={0,2})$/i

type Signature = Pick<RouteSignature, 'keyIn'>
type Headers = Pick<IncomingMessage, 'headers'>

/**
 * Finds keys in the catalog by their text. Hashes of recent texts are cached, in this process only, and only for keys
 * that the catalog had: invented keys evict none. The catalog decides each time whether it still has the key.
 */
export function createFindKey(catalog: Pick<CatalogView, 'keyByHash'>): (text: string) => CatalogKey | undefined {
  const hashOf = memoize(MAX_CACHED_KEYS, (text) => {
    const hash = parseApiKey(text) && hashApiKey(text)
    return hash !== undefined && catalog.keyByHash(hash) ? hash : undefined
  })
  return (text) => {
    const hash = hashOf(text)
    return hash === undefined ? undefined : catalog.keyByHash(hash)
  }
}

/** Returns true if no header names a key, so that `writeKey` in the body does (decisions.md, Segment's API). */
export function isKeyInBody({ keyIn }: Signature, { headers }: Headers): boolean {
  return keyIn !== undefined && headers['x-api-key'] === undefined && headers.authorization === undefined
}

/** Returns the unchecked text of the key in the headers. Node joins a repeated header, so it names no key. */
export function keyInHeaders({ keyIn }: Signature, { headers }: Headers): string | undefined {
  const given = headers['x-api-key']
  if (given !== undefined || keyIn === undefined) return typeof given === 'string' ? given : undefined
  const [, encoded] = BASIC.exec(headers.authorization ?? '') ?? []
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1').split(':')[0]
}

/**
 * Returns the first text in a body that could be its `writeKey`, without parsing the body of a caller who has no key.
 * The parsed member must be compared with it.
 */
export function writeKeyIn(bytes: Uint8Array): string | undefined {
  return WRITE_KEY.exec(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))?.[1]
}

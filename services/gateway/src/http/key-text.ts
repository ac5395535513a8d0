import type { IncomingMessage } from 'node:http'
import type { RouteSignature } from '@nextvisit/contracts'

/** A key's text stands between quotes. Each quantifier is followed by a character that it does not match: linear time. */
const WRITE_KEY = /"writeKey"\s*:\s*"(nv_[0-9A-Za-z_]{1,64})"/
const BASIC = /^basic ([0-9A-Za-z+/]{1,200}={0,2})$/i

/** Whether no header names a key, so that it is `writeKey` in the body (decisions.md, Segment's API). */
export function isKeyInBody(
  { keyIn }: Pick<RouteSignature, 'keyIn'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): boolean {
  return keyIn !== undefined && headers['x-api-key'] === undefined && headers.authorization === undefined
}

/**
 * The API key that a request's headers name, still to be checked; undefined for none. A header that came twice arrives
 * joined, so it names no key.
 */
export function keyInHeaders(
  { keyIn }: Pick<RouteSignature, 'keyIn'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): string | undefined {
  const given = headers['x-api-key']
  if (given !== undefined || keyIn === undefined) return typeof given === 'string' ? given : undefined
  const [, encoded] = BASIC.exec(headers.authorization ?? '') ?? []
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1').split(':')[0]
}

/**
 * The first text in a body that could be its `writeKey`, so that the body of a caller without a key is not parsed. Whoever
 * parses it must compare the member itself.
 */
export function writeKeyIn(bytes: Uint8Array): string | undefined {
  return WRITE_KEY.exec(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))?.[1]
}

import type { RateLimit } from '@nextvisit/contracts'
import { type BodyWeight, BYTES_OF_AN_ITEM } from './weigh-body.ts'

/** Bytes that each further token pays for. A large body costs every process, from the gateway to the consumers. */
const BYTES_OF_A_TOKEN = 2_048
/** Distinct member names of a body that have no price of their own. */
const FREE_NAMES = 512
/** Names that each further token pays for. Parsing a new name costs as much as parsing hundreds of bytes. */
const NAMES_OF_A_TOKEN = 256
/** Maximum size in bytes of a body that cannot have more names than {@link FREE_NAMES}. */
export const FEW_NAMES_BYTES = 3_072
/** Bytes of a body that was read, but not parsed, that a token pays for. */
const BYTES_OF_A_READ_BODY_TOKEN = 65_536

/**
 * Returns the price of a body in tokens: one for each item, one for each started 2 KiB by which items exceed 8 KiB, in
 * total, and one for each started 256 names beyond 512 (decisions.md, Busy and broken). Small items do not pay for large
 * ones. White space between many counts as theirs. `maxItems`: of a batch; without it, the body is the one item.
 */
export function priceOf({ bytes, items, bytesBeyond, names }: BodyWeight, maxItems = 1): number {
  const paid = Math.max(1, Math.min(items, maxItems))
  const beyond = Math.max(0, paid > 1 ? bytesBeyond : 0, bytes - paid * BYTES_OF_AN_ITEM)
  const ofNames = Math.ceil(Math.max(0, names - FREE_NAMES) / NAMES_OF_A_TOKEN)
  return paid + Math.ceil(beyond / BYTES_OF_A_TOKEN) + ofNames
}

/** Returns the lowest price of a body of this size, for any number of items and names. */
export function leastPriceOf(bytes: number, maxItems = 1): number {
  const items = Math.ceil(bytes / BYTES_OF_AN_ITEM)
  return maxItems > 1 ? Math.max(1, items) : priceOf({ bytes, items, bytesBeyond: 0, names: 0 })
}

/** Returns the price of a body of which this many bytes were read, as sent and as inflated, and none was parsed. */
export function priceOfReading(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_OF_A_READ_BODY_TOKEN))
}

/**
 * Returns the tokens that must be present for the price of a body, less the first token, which was taken before. Half a
 * bucket is enough for a price over `burst`, since a bucket in use is rarely full.
 */
export function neededFor(price: number, { burst }: RateLimit): number {
  return (price > burst ? Math.ceil(burst / 2) : price) - 1
}

/** Bytes of a read's answer, beyond {@link BYTES_OF_AN_ITEM}, that a token pays for. Reads cost less than writes. */
const BYTES_OF_A_READ_TOKEN = 32_768

/** Returns the price of a read with an answer of this number of bytes. */
export function priceOfRead(answerBytes: number): number {
  const beyond = Math.max(0, answerBytes - BYTES_OF_AN_ITEM)
  return 1 + Math.ceil(beyond / BYTES_OF_A_READ_TOKEN)
}

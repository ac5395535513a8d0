import type { RateLimit } from '@nextvisit/contracts'
import { checkDepth, isJsonObject } from '@nextvisit/domain'

/** Bytes of an item that its first token pays for. */
const BYTES_OF_AN_ITEM = 8_192
/** Bytes that each further token pays for. A large body costs every process, from the gateway to the consumers. */
const BYTES_OF_A_TOKEN = 2_048

/**
 * Returns the price of a request in tokens: one for each item, and one for each started 2 KiB by which items exceed 8
 * KiB, in total (decisions.md, Busy and broken). Small items do not pay for large ones. `bodyBytes`: inflated. A body
 * with one item is that item; white space between many counts as theirs.
 */
export function priceOf(bodyBytes: number, items: readonly unknown[]): number {
  const paid = Math.max(1, items.length)
  const isOfLarge = items.length > 1 && bodyBytes > BYTES_OF_AN_ITEM
  const ofItems = isOfLarge ? items.reduce<number>((sum, item) => sum + bytesBeyond(item), 0) : 0
  const beyond = Math.max(0, ofItems, bodyBytes - paid * BYTES_OF_AN_ITEM)
  return paid + Math.ceil(beyond / BYTES_OF_A_TOKEN)
}

function bytesBeyond(item: unknown): number {
  // A deeper item would overflow the stack, and is refused unread.
  if (!isJsonObject(item) || checkDepth(item)) return 0
  return Math.max(0, Buffer.byteLength(JSON.stringify(item)) - BYTES_OF_AN_ITEM)
}

/** Returns the lowest price of a body of this size, for any number of items. */
export function leastPriceOf(bodyBytes: number): number {
  return Math.max(1, Math.ceil(bodyBytes / BYTES_OF_AN_ITEM))
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

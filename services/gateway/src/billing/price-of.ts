import type { RateLimit } from '@nextvisit/contracts'
import { checkDepth, isJsonObject } from '@nextvisit/domain'
import type { BatchTokens } from './rate-limiter.ts'

/** Of an item: what its first token pays for. */
const BYTES_OF_AN_ITEM = 8_192
/** What each further token pays for. A large body costs every process, from the gateway to the consumers. */
const BYTES_OF_A_TOKEN = 2_048

/**
 * How many tokens a request costs: one for each item, and one for each 2 KiB, or part of it, by which items are larger than
 * 8 KiB, all together (decisions.md, Busy and broken). Small items do not pay for large ones. `bodyBytes`: inflated; a
 * body of one item is that item, and white space between many is theirs.
 */
export function priceOf(bodyBytes: number, items: readonly unknown[]): number {
  const paid = Math.max(1, items.length)
  const isOfLarge = items.length > 1 && bodyBytes > BYTES_OF_AN_ITEM
  const ofItems = isOfLarge ? items.reduce<number>((sum, item) => sum + bytesBeyond(item), 0) : 0
  const beyond = Math.max(0, ofItems, bodyBytes - paid * BYTES_OF_AN_ITEM)
  return paid + Math.ceil(beyond / BYTES_OF_A_TOKEN)
}

function bytesBeyond(item: unknown): number {
  // A deeper one overflows the stack, and is refused unread.
  if (!isJsonObject(item) || checkDepth(item)) return 0
  return Math.max(0, Buffer.byteLength(JSON.stringify(item)) - BYTES_OF_AN_ITEM)
}

/** What any request with such a body costs at least, however many items it has. */
export function leastPriceOf(bodyBytes: number): number {
  return Math.max(1, Math.ceil(bodyBytes / BYTES_OF_AN_ITEM))
}

/** What one token of a read's answer pays for, beyond {@link BYTES_OF_AN_ITEM}. To read costs less than to write. */
const BYTES_OF_A_READ_TOKEN = 32_768

/** What is owed for a read with an answer of so many bytes. One token was taken before. */
export function owedForRead(answerBytes: number): BatchTokens {
  const beyond = Math.max(0, answerBytes - BYTES_OF_AN_ITEM)
  return { need: 0, owed: Math.ceil(beyond / BYTES_OF_A_READ_TOKEN), isOwedAnyway: true }
}

/** Must be there before the body is parsed, and stays there: parsing half a megabyte can cost as much as fifty requests. */
export function presenceOf(price: number, { burst }: RateLimit): BatchTokens {
  const need = presentFor(price, burst) - 1
  return { need, owed: -need }
}

/** What is taken once the body was read. One token was taken before. */
export function restOf(price: number, { burst }: RateLimit): BatchTokens {
  const need = presentFor(price, burst) - 1
  return { need, owed: price - 1 - need }
}

/** What the bucket must have, the first token among it. It is hardly ever full while others use the key: half of it is enough. */
function presentFor(price: number, burst: number): number {
  return price > burst ? Math.ceil(burst / 2) : price
}

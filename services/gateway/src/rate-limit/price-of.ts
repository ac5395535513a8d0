import type { RateLimit } from '@nextvisit/contracts'
import type { BatchTokens } from './rate-limiter.ts'

/** Of the body, inflated: what the token of an item pays for. */
const BYTES_OF_AN_ITEM = 8_192
/** What each further token pays for. A large body costs every process, from the gateway to the consumers. */
const BYTES_OF_A_TOKEN = 2_048

/**
 * How many tokens a request costs: one for each item, and one for each 2 KiB, or part of it, by which its body is larger
 * than 8 KiB an item (decisions.md, Busy and broken).
 */
export function priceOf(items: number, bodyBytes: number): number {
  const paid = Math.max(1, items)
  return paid + Math.max(0, Math.ceil((bodyBytes - paid * BYTES_OF_AN_ITEM) / BYTES_OF_A_TOKEN))
}

/** What any request with such a body costs at least, however many items it has. */
export function leastPriceOf(bodyBytes: number): number {
  return Math.max(1, Math.ceil(bodyBytes / BYTES_OF_AN_ITEM))
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

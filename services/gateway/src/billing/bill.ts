import type { CatalogKey } from '@nextvisit/catalog'
import type { RateLimit } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { leastPriceOf, owedForRead, presenceOf, priceOf, restOf } from './price-of.ts'
import { type BatchTokens, type RateLimiter, type RateLimitVerdict, rateLimitHeaders } from './rate-limiter.ts'

export type Bill = ReturnType<typeof createBill>

const PAID = Promise.resolve(undefined)

/**
 * Creates the payments of one request from its key's rate limit (decisions.md, Busy and broken). A refusal ends the
 * request.
 */
export function createBill(rateLimiter: RateLimiter, { entry, project }: CatalogKey) {
  const limit = project.config.rateLimits[entry.kind]
  let verdict: RateLimitVerdict | undefined

  async function take(tokens?: BatchTokens): Promise<Refusal | undefined> {
    verdict = await rateLimiter.take(entry.sha256, limit, tokens)
    return verdict.isAllowed ? undefined : refuse(REFUSALS.tooFast(limit.perSecond))
  }

  /** The first token pays for a price of 1. */
  const takeBeyondFirst = (price: number, tokensOf: (price: number, limit: RateLimit) => BatchTokens) =>
    price > 1 ? take(tokensOf(price, limit)) : PAID

  return {
    /** Takes the first token, before the body is read. */
    enter: () => take(),
    /** Checks that the bucket holds the lowest price of a body, and takes nothing. `bodyBytes`: inflated. */
    mayParse: (bodyBytes: number) => takeBeyondFirst(leastPriceOf(bodyBytes), presenceOf),
    /** Takes the price of the items, less the first token: all or none. */
    payFor: (items: readonly unknown[], bodyBytes: number) => takeBeyondFirst(priceOf(bodyBytes, items), restOf),
    /** Takes the price of a read's answer. The bucket owes it if it is empty. */
    oweFor: async (answerBytes: number): Promise<void> => {
      const tokens = owedForRead(answerBytes)
      if (tokens.owed > 0) await take(tokens)
    },
    /** Returns the rate-limit headers after the last payment. */
    headers: (): Readonly<Record<string, string>> => (verdict ? rateLimitHeaders(entry.kind, limit, verdict) : {}),
  }
}

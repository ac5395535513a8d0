import type { CatalogKey } from '@nextvisit/catalog'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { leastPriceOf, neededFor, priceOf, priceOfRead } from './price-of.ts'
import { type BatchTokens, type RateLimiter, type RateLimitVerdict, rateLimitHeaders } from './rate-limiter.ts'

export type Bill = ReturnType<typeof createBill>

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

  return {
    /** Takes the first token, before the body is read. It pays for a price of 1. */
    enter: () => take(),
    /**
     * Checks that the bucket holds the lowest price of a body, and takes nothing: parsing 500 KB can cost as much as
     * fifty requests. `bodyBytes`: inflated.
     */
    mayParse: async (bodyBytes: number): Promise<Refusal | undefined> => {
      const price = leastPriceOf(bodyBytes)
      const need = neededFor(price, limit)
      return price > 1 ? take({ need, owed: -need }) : undefined
    },
    /** Takes the price of the items, less the first token: all or none. */
    payFor: async (items: readonly unknown[], bodyBytes: number): Promise<Refusal | undefined> => {
      const price = priceOf(bodyBytes, items)
      const need = neededFor(price, limit)
      return price > 1 ? take({ need, owed: price - 1 - need }) : undefined
    },
    /** Takes the price of a read's answer, less the first token. The bucket owes it if it is empty. */
    payForAnswer: async (answerBytes: number): Promise<void> => {
      const owed = priceOfRead(answerBytes) - 1
      if (owed > 0) await take({ need: 0, owed, isOwedAnyway: true })
    },
    /** Returns the rate-limit headers after the last payment. */
    headers: (): Readonly<Record<string, string>> => (verdict ? rateLimitHeaders(entry.kind, limit, verdict) : {}),
  }
}

import type { CatalogKey } from '@nextvisit/catalog'
import type { RateLimit } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { leastPriceOf, owedForRead, presenceOf, priceOf, restOf } from './price-of.ts'
import { type BatchTokens, type RateLimiter, type RateLimitVerdict, rateLimitHeaders } from './rate-limiter.ts'

/**
 * The payments of one request from its key's rate limit (decisions.md, Busy and broken). A refusal ends the request.
 */
export interface Bill {
  /** Takes the first token, before the body is read. */
  readonly enter: () => Promise<Refusal | undefined>
  /** Checks that the bucket holds the lowest price of a body, and takes nothing. `bodyBytes`: inflated. */
  readonly mayParse: (bodyBytes: number) => Promise<Refusal | undefined>
  /** Takes the price of the items, less the first token: all or none. */
  readonly payFor: (items: readonly unknown[], bodyBytes: number) => Promise<Refusal | undefined>
  /** Takes the price of a read's answer. The bucket owes it if it is empty. */
  readonly oweFor: (answerBytes: number) => Promise<void>
  /** Returns the rate-limit headers after the last payment. */
  readonly headers: () => Readonly<Record<string, string>>
}

const PAID = Promise.resolve(undefined)

/** Opens the bill of a request with this key. */
export function createBill(rateLimiter: RateLimiter, { entry, project }: CatalogKey): Bill {
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
    enter: () => take(),
    mayParse: (bodyBytes) => takeBeyondFirst(leastPriceOf(bodyBytes), presenceOf),
    payFor: (items, bodyBytes) => takeBeyondFirst(priceOf(bodyBytes, items), restOf),
    oweFor: async (answerBytes) => {
      const tokens = owedForRead(answerBytes)
      if (tokens.owed > 0) await take(tokens)
    },
    headers: () => (verdict ? rateLimitHeaders(entry.kind, limit, verdict) : {}),
  }
}

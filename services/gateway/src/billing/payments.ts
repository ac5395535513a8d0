import type { CatalogKey } from '@nextvisit/catalog'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import { leastPriceOf, owedForRead, presenceOf, priceOf, restOf } from './price-of.ts'
import { type BatchTokens, type RateLimiter, rateLimitHeaders } from './rate-limiter.ts'

/** What becomes of a request that pays. */
export type Payment = { readonly outcome: 'taken' } | Refusal

/** Of an answer: what is left of the key's limit is written into them. */
type Headers = Record<string, string>

const TAKEN = { outcome: 'taken' } as const

/** What requests pay of their key's rate limit, and when (decisions.md, Busy and broken). */
export function createPayments(rateLimiter: RateLimiter) {
  async function take({ entry, project }: CatalogKey, headers: Headers, batch?: BatchTokens): Promise<Payment> {
    const limit = project.config.rateLimits[entry.kind]
    const verdict = await rateLimiter.take(entry.sha256, limit, batch)
    Object.assign(headers, rateLimitHeaders(entry.kind, limit, verdict))
    return verdict.isAllowed ? TAKEN : refuse(REFUSALS.tooFast(limit.perSecond))
  }

  /** One token was taken before the body was read. `part`: of the price, what is taken, or has to be there. */
  async function payRest(key: CatalogKey, headers: Headers, price: number, part: typeof restOf): Promise<Payment> {
    return price > 1 ? take(key, headers, part(price, key.project.config.rateLimits[key.entry.kind])) : TAKEN
  }

  return {
    /** One token, which any request takes. */
    first: (key: CatalogKey, headers: Headers) => take(key, headers),
    /** Takes nothing: whether there is what such a body costs at least, before it is parsed. `bodyBytes`: inflated. */
    presence: (key: CatalogKey, headers: Headers, bodyBytes: number) =>
      payRest(key, headers, leastPriceOf(bodyBytes), presenceOf),
    /** What a request of these items costs besides its first token, all or none. */
    rest: (key: CatalogKey, headers: Headers, bodyBytes: number, items: readonly unknown[]) =>
      payRest(key, headers, priceOf(bodyBytes, items), restOf),
    /** Of a read: nobody knows before how long its answer will be. */
    owe: async (key: CatalogKey, headers: Headers, answerBytes: number): Promise<void> => {
      const tokens = owedForRead(answerBytes)
      if (tokens.owed > 0) await take(key, headers, tokens)
    },
  }
}

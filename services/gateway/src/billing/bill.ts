import type { CatalogKey } from '@nextvisit/catalog'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import { FEW_NAMES_BYTES, leastPriceOf, neededFor, priceOf, priceOfRead, priceOfReading } from './price-of.ts'
import { type BatchTokens, type RateLimiter, type RateLimitVerdict, rateLimitHeaders } from './rate-limiter.ts'
import { weighBody } from './weigh-body.ts'

export type Bill = ReturnType<typeof createBill>

/**
 * Creates the payments of one request from its key's rate limit (decisions.md, Busy and broken). A refusal ends the
 * request. `maxItems`: of a batch.
 */
export function createBill(rateLimiter: RateLimiter, { entry, project }: CatalogKey, maxItems?: number) {
  const limit = project.config.rateLimits[entry.kind]
  let verdict: RateLimitVerdict | undefined
  let isBodyPaid = false

  async function take(tokens?: BatchTokens): Promise<Refusal | undefined> {
    verdict = await rateLimiter.take(entry.sha256, limit, tokens)
    return verdict.isAllowed ? undefined : refuse(REFUSALS.tooFast(limit.perSecond))
  }

  /** Takes tokens that the bucket owes if it is empty. A refused request passes later by as much. */
  async function owe(tokens: number): Promise<void> {
    const before = verdict
    await take({ need: 0, owed: tokens, isOwedAnyway: true })
    if (before?.isAllowed === false)
      verdict = { ...before, moreInSeconds: before.moreInSeconds + Math.ceil(tokens / limit.perSecond) }
  }

  return {
    /** Takes the first token, before the body is read. It pays for a price of 1. */
    enter: () => take(),
    /** Checks that the bucket holds the lowest price of a body, and takes nothing. `bodyBytes`: inflated. */
    mayPayFor: async (bodyBytes: number): Promise<Refusal | undefined> => {
      const price = leastPriceOf(bodyBytes, maxItems)
      const need = neededFor(price, limit)
      return price > 1 ? take({ need, owed: -need }) : undefined
    },
    /**
     * Takes the price of a body, less the first token: all or none. Parsing half a megabyte can cost as much as a hundred
     * requests, so it is paid before, and whatever becomes of the request.
     */
    payForBody: async (body: Uint8Array): Promise<Refusal | undefined> => {
      const isSmall = maxItems === undefined && body.length <= FEW_NAMES_BYTES
      const price = isSmall ? 1 : priceOf(weighBody(body), maxItems)
      const need = neededFor(price, limit)
      const refusal = price > 1 ? await take({ need, owed: price - 1 - need }) : undefined
      isBodyPaid = refusal === undefined
      return refusal
    },
    /** Takes the price of bytes that were read in vain, less the first token, unless the whole body is paid for. */
    payForReading: async (readBytes: number): Promise<void> => {
      const owed = priceOfReading(readBytes) - 1
      if (owed > 0 && !isBodyPaid) await owe(owed)
    },
    /** Takes the price of a read's answer, less the first token. */
    payForAnswer: async (answerBytes: number): Promise<void> => {
      const owed = priceOfRead(answerBytes) - 1
      if (owed > 0) await owe(owed)
    },
    /** Returns the rate-limit headers after the last payment. */
    headers: (): Readonly<Record<string, string>> => (verdict ? rateLimitHeaders(entry.kind, limit, verdict) : {}),
  }
}

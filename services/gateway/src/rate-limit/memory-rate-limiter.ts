import { LRUCache } from 'lru-cache'
import type { RateLimiter } from './rate-limiter.ts'

const MAX_BUCKETS = 10_000

interface Bucket {
  tokens: number
  filledAtMs: number
}

/** Buckets of this gateway alone. `nowMs` is a clock that never goes back, such as `performance.now`. */
export function createMemoryRateLimiter(nowMs: () => number): RateLimiter {
  // A key that is thrown out finds a full bucket again: it was the one least recently used.
  const buckets = new LRUCache<string, Bucket>({ max: MAX_BUCKETS })
  return {
    take: async (keyHash, limit) => {
      const now = nowMs()
      const bucket = buckets.get(keyHash) ?? { tokens: limit.burst, filledAtMs: now }
      const refilled = bucket.tokens + ((now - bucket.filledAtMs) / 1_000) * limit.perSecond
      const available = Math.min(limit.burst, refilled)
      const isAllowed = available >= 1
      const tokens = isAllowed ? available - 1 : available
      buckets.set(keyHash, { tokens, filledAtMs: now })
      return {
        isAllowed,
        remaining: Math.floor(tokens),
        fullInSeconds: Math.ceil((limit.burst - tokens) / limit.perSecond),
        retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / limit.perSecond)),
      }
    },
  }
}

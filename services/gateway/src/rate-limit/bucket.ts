import type { RateLimit } from '@nextvisit/contracts'
import { type RateLimitVerdict, wholeSeconds } from './rate-limiter.ts'

/**
 * A token bucket seen from its other side: `level` tokens are out of it, and come back at `perSecond`. Said so, a changed
 * `burst` holds at once, and whoever knows nothing of a key starts at 0.
 */
export interface Bucket {
  readonly level: number
  /** When that was so, on a clock that never goes back. */
  readonly atMs: number
}

/** What fractions lose on their way must not cost a whole token. */
const ROUNDING = 1e-9

/** The bucket at a later moment. */
export function drain({ level, atMs }: Bucket, limit: RateLimit, nowMs: number): Bucket {
  const cameBack = ((nowMs - atMs) / 1_000) * limit.perSecond
  return { level: Math.max(0, level - cameBack), atMs: nowMs }
}

/** The bucket with so many more tokens out of it. */
export function spend({ level, atMs }: Bucket, tokens: number): Bucket {
  return { level: level + tokens, atMs }
}

/** How many tokens are there, of a bucket that was drained to now. `leased` are out of it but at hand. */
export function available({ level }: Bucket, { burst }: RateLimit, leased = 0): number {
  return Math.min(burst, Math.max(0, burst - level + leased + ROUNDING))
}

/** What to tell a caller, of a bucket that was drained to now. */
export function verdictOf(isAllowed: boolean, bucket: Bucket, limit: RateLimit, leased = 0): RateLimitVerdict {
  const tokens = available(bucket, limit, leased)
  const remaining = Math.floor(tokens)
  return { isAllowed, remaining, moreInSeconds: wholeSeconds((remaining + 1 - tokens) / limit.perSecond) }
}

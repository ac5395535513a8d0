import type { RateLimit } from '@nextvisit/contracts'

/**
 * A token bucket, stored as the tokens that are missing: `level` starts at 0 and drains at `perSecond`. So a changed `burst`
 * applies at once, and an unknown key has a full bucket. A level above `burst` is what the bucket owes.
 */
export interface TokenBucket {
  readonly level: number
  /** When the bucket had this level, on a clock that never goes back. */
  readonly atMs: number
}

/** The bucket at a later moment. */
export function drain({ level, atMs }: TokenBucket, { perSecond }: RateLimit, nowMs: number): TokenBucket {
  const refilled = ((nowMs - atMs) / 1_000) * perSecond
  return { level: Math.max(0, level - refilled), atMs: nowMs }
}

/** Tokens in a bucket that was drained to now, at most `burst`; less than 0 where it owes some. The rounding of fractions must not cost a whole token. */
export function tokensIn({ level }: TokenBucket, { burst }: RateLimit): number {
  return Math.min(burst, burst - level + 1e-9)
}

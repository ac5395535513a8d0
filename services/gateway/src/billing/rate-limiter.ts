import type { RateLimit } from '@nextvisit/contracts'

export interface RateLimitVerdict {
  readonly isAllowed: boolean
  /** Whole tokens that are left; 0 for a refusal. */
  readonly remaining: number
  /** Whole seconds until there is one token more than `remaining`; at least 1. */
  readonly moreInSeconds: number
}

/** Tokens that a request takes at once, or not at all, after its first. */
export interface BatchTokens {
  /** Tokens that must be in the bucket. */
  readonly need: number
  /**
   * Tokens taken besides, present or not: the bucket gives none until it is refilled by as many. `-need`: take nothing.
   */
  readonly owed: number
  /** True for a debt that a bucket in debt takes on, too, because its cause has happened. */
  readonly isOwedAnyway?: boolean
}

/** Token buckets: capacity `burst`, refilled at `perSecond` (decisions.md, Busy and broken). */
export interface RateLimiter {
  /** Takes one token from the bucket of a key, or the tokens of a batch or large body. Never rejects. */
  readonly take: (keyHash: string, limit: RateLimit, batch?: BatchTokens) => Promise<RateLimitVerdict>
}

/** Returns the verdict for this number of tokens left, negative for a debt. A refused request passes with `need`. */
export function verdictOf(isAllowed: boolean, tokens: number, { perSecond }: RateLimit, need = 1): RateLimitVerdict {
  const remaining = isAllowed ? Math.max(0, Math.floor(tokens)) : 0
  const wanted = isAllowed ? remaining + 1 : need
  return { isAllowed, remaining, moreInSeconds: wholeSeconds((wanted - tokens) / perSecond) }
}

/**
 * Returns the headers of draft-ietf-httpapi-ratelimit-headers-11. The kind of key names the policy. `q`: capacity; `w`:
 * the seconds in which an empty bucket fills; `r`: tokens left; `t`: seconds until the next one. For a refusal, `t`
 * equals `Retry-After`, as the draft requires.
 */
export function rateLimitHeaders(policy: string, limit: RateLimit, verdict: RateLimitVerdict): Record<string, string> {
  const { isAllowed, remaining, moreInSeconds } = verdict
  return {
    'RateLimit-Policy': `"${policy}";q=${limit.burst};w=${wholeSeconds(limit.burst / limit.perSecond)}`,
    RateLimit: `"${policy}";r=${remaining};t=${moreInSeconds}`,
    ...(!isAllowed && { 'Retry-After': String(moreInSeconds) }),
  }
}

/** Rounds up to at least 1, and at most the largest 32-bit integer, for clients that read no larger ones. */
function wholeSeconds(seconds: number): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), 2 ** 31 - 1)
}

/**
 * A token bucket, stored as its missing tokens: `level` starts at 0 and drains at `perSecond`. So a changed `burst`
 * applies at once, and an unknown key has a full bucket. A level above `burst` is a debt.
 */
export interface TokenBucket {
  readonly level: number
  /** When the bucket had this level, in ms of a monotonic clock. */
  readonly atMs: number
}

/** Returns the bucket at a later moment. */
export function drain({ level, atMs }: TokenBucket, { perSecond }: RateLimit, nowMs: number): TokenBucket {
  const refilled = ((nowMs - atMs) / 1_000) * perSecond
  return { level: Math.max(0, level - refilled), atMs: nowMs }
}

/**
 * Returns the tokens of a bucket drained to now, negative for a debt. The rounding of fractions must not cost a token.
 */
export function tokensIn({ level }: TokenBucket, { burst }: RateLimit): number {
  return Math.min(burst, burst - level + 1e-9)
}

import type { RateLimit } from '@nextvisit/contracts'

export interface RateLimitVerdict {
  readonly isAllowed: boolean
  /** Whole tokens left for this key; 0 for a refusal. */
  readonly remaining: number
  /** Whole seconds, rounded up, until there is one token more than `remaining`; at least 1. */
  readonly moreInSeconds: number
}

/** What a request that costs more than one token takes at once, or not at all, after its first. */
export interface BatchTokens {
  /** Must be in the bucket. */
  readonly need: number
  /** Taken besides, in it or not: the bucket owes them, and no token comes before it has been refilled by as many. `-need`: nothing is taken. */
  readonly owed: number
  /** Owed also by a bucket that owes some already: what it is for has happened. */
  readonly isOwedAnyway?: boolean
}

/** Token buckets: capacity `burst`, refilled at `perSecond` (decisions.md, Busy and broken). */
export interface RateLimiter {
  /** Takes one token from the bucket of a key, or what a batch or a large body takes. The key is named by its hash. Never rejects. */
  readonly take: (keyHash: string, limit: RateLimit, batch?: BatchTokens) => Promise<RateLimitVerdict>
}

/** The verdict where so many tokens are left, less than 0 where the bucket owes some. A refused request passes with `need`. */
export function verdictOf(isAllowed: boolean, tokens: number, { perSecond }: RateLimit, need = 1): RateLimitVerdict {
  const remaining = isAllowed ? Math.max(0, Math.floor(tokens)) : 0
  const wanted = isAllowed ? remaining + 1 : need
  return { isAllowed, remaining, moreInSeconds: wholeSeconds((wanted - tokens) / perSecond) }
}

/**
 * Headers as in draft-ietf-httpapi-ratelimit-headers-11. The policy is named by the kind of key; `q` is the capacity and `w`
 * the seconds in which an empty bucket fills. `r` is what is left, and `t` the seconds in which no more than that can be used:
 * until the next token. So for a refusal `t` equals `Retry-After`, as the draft wants.
 */
export function rateLimitHeaders(policy: string, limit: RateLimit, verdict: RateLimitVerdict): Record<string, string> {
  const { isAllowed, remaining, moreInSeconds } = verdict
  return {
    'RateLimit-Policy': `"${policy}";q=${limit.burst};w=${wholeSeconds(limit.burst / limit.perSecond)}`,
    RateLimit: `"${policy}";r=${remaining};t=${moreInSeconds}`,
    ...(!isAllowed && { 'Retry-After': String(moreInSeconds) }),
  }
}

/** Rounded up, at least 1, and small enough for clients that read 32-bit integers. */
function wholeSeconds(seconds: number): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), 2 ** 31 - 1)
}

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

import type { RateLimit } from '@nextvisit/contracts'

export interface RateLimitVerdict {
  readonly isAllowed: boolean
  /** Whole tokens left for this key. */
  readonly remaining: number
  /** Whole seconds, rounded up, until there is one token more than `remaining`; at least 1. */
  readonly moreInSeconds: number
}

/** Token buckets: capacity `burst`, refilled at `perSecond` (decisions.md, Busy and broken). */
export interface RateLimiter {
  /** Takes one token from the bucket of a key, named by the key's hash. Never rejects; mostly knows at once. */
  readonly take: (keyHash: string, limit: RateLimit) => RateLimitVerdict | Promise<RateLimitVerdict>
}

/**
 * `RateLimit-Policy` and `RateLimit` as draft-ietf-httpapi-ratelimit-headers-11 has them (lists of strings with
 * parameters), and `Retry-After` where there is nothing left.
 *
 * The policy is named by the kind of key. `q` is the capacity, `w` the seconds in which an empty bucket fills: q/w is the
 * rate. `r` is what is left, and `t` the draft's effective window, within which no more than `r` can be used: until the
 * next token. So where `r` is 0, `t` equals `Retry-After`, which the draft wants no earlier.
 */
export function rateLimitHeaders(policy: string, limit: RateLimit, verdict: RateLimitVerdict): Record<string, string> {
  const { remaining, moreInSeconds } = verdict
  return {
    'RateLimit-Policy': `"${policy}";q=${limit.burst};w=${wholeSeconds(limit.burst / limit.perSecond)}`,
    RateLimit: `"${policy}";r=${remaining};t=${moreInSeconds}`,
    ...(!verdict.isAllowed && { 'Retry-After': String(moreInSeconds) }),
  }
}

/** As the headers want them: rounded up, at least 1, and no more than every client can read. */
export function wholeSeconds(seconds: number): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), 2 ** 31 - 1)
}

import type { RateLimit } from '@nextvisit/contracts'

export interface RateLimitVerdict {
  readonly isAllowed: boolean
  /** Whole tokens left. */
  readonly remaining: number
  /** Seconds until the bucket is full again. */
  readonly fullInSeconds: number
  /** Seconds until there is a token again; 0 while there is one. */
  readonly retryAfterSeconds: number
}

/** Token buckets: capacity `burst`, refilled at `perSecond` (decisions.md, Busy and broken). */
export interface RateLimiter {
  /** Takes one token from the bucket of a key, named by the key's hash. Never rejects. */
  readonly take: (keyHash: string, limit: RateLimit) => Promise<RateLimitVerdict>
}

/** `RateLimit` and `RateLimit-Policy` (IETF draft names), and `Retry-After` where there is nothing left. */
export function rateLimitHeaders(policy: string, limit: RateLimit, verdict: RateLimitVerdict): Record<string, string> {
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond))
  return {
    'RateLimit-Policy': `"${policy}";q=${limit.burst};w=${windowSeconds}`,
    RateLimit: `"${policy}";r=${verdict.remaining};t=${verdict.fullInSeconds}`,
    ...(!verdict.isAllowed && { 'Retry-After': String(verdict.retryAfterSeconds) }),
  }
}

export { leastPriceOf, owedForRead, presenceOf, priceOf, restOf } from './price-of.ts'
export { type BatchTokens, type RateLimiter, rateLimitHeaders } from './rate-limiter.ts'
export { createSharedRateLimiter } from './shared-rate-limiter.ts'

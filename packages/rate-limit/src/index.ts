export { leastPriceOf, owedForRead, presenceOf, priceOf, restOf } from './price-of.ts'
export { type BatchTokens, type RateLimiter, rateLimitHeaders, type RateLimitVerdict } from './rate-limiter.ts'
export { createSharedRateLimiter, type SharedRateLimiterOptions } from './shared-rate-limiter.ts'

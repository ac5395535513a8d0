export { createPayments, type Payment } from './payments.ts'
export type { RateLimiter } from './rate-limiter.ts'
export { createSharedRateLimiter } from './shared-rate-limiter.ts'

/** Routes for publishable keys are called by browsers, from any origin; admin routes are for servers and have none of this. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed',
} as const

/** The answer to `OPTIONS`, which browsers send without a key. */
export const preflightHeaders = {
  ...corsHeaders,
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type, X-Api-Key, Idempotency-Key',
  'Access-Control-Max-Age': '86400',
} as const

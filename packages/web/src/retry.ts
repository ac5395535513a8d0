const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 300_000
/** Maximum effect of a `Retry-After` header. A proxy may ask for days, and `setTimeout` fires at once beyond 24 days. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/**
 * Returns true if a request with this HTTP status may be sent again unchanged (docs/spec/decisions.md, Retries, Busy and
 * broken).
 */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/**
 * Returns the delay in ms after consecutive failures: 1 s, doubled up to five minutes, minus a random part of up to a half. It is
 * never less than the gateway's `Retry-After`, up to an hour. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: number): number {
  const half = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) / 2
  return Math.max(half, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)) + half * random
}

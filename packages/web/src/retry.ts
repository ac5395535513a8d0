const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A proxy may ask for days; `setTimeout` takes 24 days at most, and would end at once. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/**
 * Whether the same request with the same `Idempotency-Key` may be sent again after this HTTP status: it came too slowly, its
 * first try is still running, it came too fast, or something broke (docs/spec/decisions.md, Retries, Busy and broken).
 */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/**
 * How long to wait after so many failures in a row: 1 s, 2 s, 4 s, … up to a minute, of which a random part is left out. It
 * is never less than the gateway asked for, up to an hour. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: number): number {
  const half = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) / 2
  return Math.max(half, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)) + half * random
}

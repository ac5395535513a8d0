const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000
/** Maximum effect of a `Retry-After` header, which may be wrong. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000

/**
 * Returns true if a request with this HTTP status may be sent again unchanged (docs/spec/decisions.md, Retries, Busy and
 * broken).
 */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/**
 * Returns the delay in ms after consecutive failures: 0.2 s, doubled up to 10 s, minus a random part of up to a half. It is
 * never less than the gateway's `Retry-After`. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: number): number {
  const half = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) / 2
  return Math.max(half, retryAfterMs) + half * random
}

/** Returns the delay in ms of a `Retry-After` header (seconds or a date), at most 5 minutes; 0 if it is absent. */
export function parseRetryAfter(header: string | null, now: number): number {
  if (header === null) return 0
  const seconds = Number(header)
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : 1_000 * seconds
  return Math.min(Math.max(0, ms || 0), LONGEST_RETRY_AFTER_MS)
}

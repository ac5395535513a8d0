const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000
/** A mistaken header stops nothing for longer. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000

/**
 * Whether what was answered with this HTTP status may be sent again as it is: it came too slowly, its first try is still
 * running, it came too fast, or something broke (docs/spec/decisions.md, Retries, Busy and broken).
 */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/**
 * How long to wait after so many failures in a row: 0.2 s, 0.4 s, 0.8 s, … up to 10 s, of which a random part of up to a
 * half is left out. It is never less than the gateway asked for. `random` is in [0, 1).
 */
export function retryDelayMs(failures: number, retryAfterMs: number, random: number): number {
  const half = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) / 2
  return Math.max(half, retryAfterMs) + half * random
}

/** The milliseconds that a `Retry-After` asks for: seconds, or a date; at most 5 minutes. 0 if there is none. */
export function parseRetryAfter(header: string | null, now: number): number {
  if (header === null) return 0
  const seconds = Number(header)
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : 1_000 * seconds
  return Math.min(Math.max(0, ms || 0), LONGEST_RETRY_AFTER_MS)
}

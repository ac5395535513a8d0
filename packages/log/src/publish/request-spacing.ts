/**
 * Minimum time in ms between requests while waiting gathers records, and the longest extra wait of a caller. A request costs
 * a gateway and the broker more than ten records in one request do.
 */
export const REQUEST_SPACING_MS = 5
/** Number of records with which a request is sent at once: the cost per record is small already. */
const ENOUGH_RECORDS = 16
/** Consecutive waits without a further record, after which waiting is suspended: a single caller gathers none. */
const LONE_WAITS = 4
/** Requests that are sent at once before waiting resumes. */
const REQUESTS_AT_ONCE = 32

/** Decides how long the next request to the log waits for more records. */
interface RequestSpacing {
  /** Returns the wait in ms from `nowMs`, a `performance.now()` instant. `records`: number of records in the queue. */
  readonly waitMs: (nowMs: number, records: number) => number
  /** Records that a request with this number of records begins. */
  readonly noticeRequest: (nowMs: number, records: number) => void
}

/** Returns true if a request with this number of records should be sent at once. */
export function areEnough(records: number): boolean {
  return records >= ENOUGH_RECORDS
}

/** Sends a request at once after a pause, with enough records, or if the last waits gathered none. */
export function createRequestSpacing(spacingMs = REQUEST_SPACING_MS): RequestSpacing {
  let lastBeganMs = -Infinity
  let loneWaits = 0
  let goAtOnce = 0
  let isWaited = false

  return {
    waitMs: (nowMs, records) => {
      const leftMs = lastBeganMs + spacingMs - nowMs
      isWaited = leftMs > 0 && goAtOnce === 0 && !areEnough(records)
      return isWaited ? leftMs : 0
    },
    noticeRequest: (nowMs, records) => {
      lastBeganMs = nowMs
      if (goAtOnce > 0) goAtOnce -= 1
      if (!isWaited) return
      loneWaits = records > 1 ? 0 : loneWaits + 1
      if (loneWaits < LONE_WAITS) return
      loneWaits = 0
      goAtOnce = REQUESTS_AT_ONCE
    },
  }
}

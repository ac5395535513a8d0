/**
 * Requests to the log begin so far apart where waiting gathers records: each request costs a gateway and the broker more than
 * ten records in one do. A caller waits so much longer at most.
 */
export const REQUEST_SPACING_MS = 5
/** A request with so many records goes at once: it costs each of them next to nothing, and their callers wait. */
const ENOUGH_RECORDS = 16
/** A caller that sends one record after the other gathers nothing by waiting. */
const LONE_WAITS = 4
/** Then so many requests go at once, before waiting is tried again. */
const REQUESTS_AT_ONCE = 32

/** Decides how long the next request to the log waits for more records. */
export interface RequestSpacing {
  /** From `nowMs` on, in ms; 0: it goes at once. `records`: how many wait for it. Instants are those of `performance.now()`. */
  readonly waitMs: (nowMs: number, records: number) => number
  /** A request begins, after a wait or at once, with so many records. */
  readonly noticeRequest: (nowMs: number, records: number) => void
}

/** Whether a request for which so many records wait should go now. */
export function areEnough(records: number): boolean {
  return records >= ENOUGH_RECORDS
}

/** A request goes at once after a pause, with enough records, and where the last waits gathered nothing. */
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

/**
 * Requests to the log begin so far apart where waiting gathers records: each request costs a gateway and the broker more than
 * ten records in one do. A caller waits so much longer at most.
 */
export const REQUEST_SPACING_MS = 5
/** Among so many records a request costs each next to nothing, and their callers wait: it goes at once. */
export const ENOUGH_RECORDS = 16
/** A caller that sends one record after the other gathers nothing by waiting. */
const LONE_WAITS = 4
/** Then so many requests go at once, before waiting is tried again. */
const REQUESTS_AT_ONCE = 32

/** Decides how long the next request to the log waits for more records. */
export interface RequestSpacing {
  /** From `nowMs` on, in ms, where so many records wait; 0: it goes at once. Instants are those of `performance.now()`. */
  readonly waitMs: (nowMs: number, records: number) => number
  /** A request begins, after a wait or at once, with so many records. */
  readonly noticeRequest: (nowMs: number, records: number) => void
}

/** A request goes at once after a pause, with {@link ENOUGH_RECORDS}, and where the last waits gathered nothing. */
export function createRequestSpacing(spacingMs = REQUEST_SPACING_MS): RequestSpacing {
  let lastBeganMs = -Infinity
  let loneWaits = 0
  let goAtOnce = 0
  let isWaited = false

  return {
    waitMs: (nowMs, records) => {
      const leftMs = lastBeganMs + spacingMs - nowMs
      isWaited = leftMs > 0 && goAtOnce === 0 && records < ENOUGH_RECORDS
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

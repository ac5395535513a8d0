import type { Pauses } from './pauses.ts'
import { retryDelayMs } from './retry.ts'
import { ageOfKey, type Send } from './send.ts'
import type { Store } from './store.ts'

/** Stored name of the pause: its start (ms since the epoch), its length in ms, and the number of consecutive failures. */
export const PAUSE = 'retry'
/** Time in ms after a pause until its failures say nothing about the gateway any more. */
const FORGOTTEN_AFTER_MS = 3_600_000

/**
 * The pause after requests without an answer. All requests, tabs and pages of a user share it, so that it grows until one is
 * answered, also across reloads.
 */
export interface Backoff {
  /** Returns the time in ms until a request may be sent; 0 or less: now. */
  readonly leftMs: () => number
  /**
   * Resolves at the end of the pause, to true if the page is left. Spread over time: the first request then begins the next
   * pause, and others wait again. It lasts at most `longestMs`.
   */
  readonly pause: (longestMs: number) => Promise<boolean>
  /** Returns a function that sends requests and counts their outcomes. */
  readonly counting: (send: Send) => Send
}

export function createBackoff(store: Store, pauses: Pauses): Backoff {
  function read(): readonly [leftMs: number, failures: number] {
    const value = store.get(PAUSE) ?? ''
    const [, ms = 0, failures = 0] = value.split(' ').map(Number)
    const ageMs = ageOfKey(value)
    return ageMs < ms + FORGOTTEN_AFTER_MS ? [ms - ageMs, failures] : [0, 0]
  }

  const leftMs = () => read()[0]
  const pauseAfter = (failures: number, retryAfterMs = 0) => {
    const ms = Math.max(leftMs(), retryDelayMs(failures, retryAfterMs, Math.random()))
    store.set(PAUSE, `${Date.now()} ${ms} ${failures}`)
  }

  return {
    leftMs,
    pause: (longestMs) => pauses.pause(Math.min(longestMs, leftMs() * (1 + Math.random() / 4))),
    counting: (send) => async (request) => {
      const [, failures] = read()
      // This request probes the gateway, and others wait meanwhile.
      if (failures > 0) pauseAfter(failures)
      const attempt = await send<never>(request)
      // Requests in flight at the same time count as one failure.
      if (attempt.outcome === 'failed') pauseAfter(Math.max(failures + 1, read()[1]), attempt.retryAfterMs)
      else if (store.take(PAUSE)) pauses.endAll(false)
      return attempt
    },
  }
}

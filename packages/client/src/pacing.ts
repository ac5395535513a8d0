import { MAX_BATCH_BYTES } from './batch-limits.ts'
import { retryDelayMs } from './retry.ts'

const MAX_REQUESTS = 4
/** Time after a 413 until batches grow again, because the limit may have been temporary. */
const GROW_AFTER_MS = 60_000

export type Pacing = ReturnType<typeof createPacing>

/** Creates the limits of a queue's requests, which follow from their outcomes: when, how many and how large. */
export function createPacing() {
  /** Number of consecutive failed requests. */
  let failures = 0
  let pausedUntil = 0
  let maxBytes = MAX_BATCH_BYTES
  /** Instant when batches may grow, by `performance.now()`. */
  let growAt = Infinity

  /** Doubles the maximum batch size each minute. If the limit still applies, that costs one refused request a minute. */
  function growTo(bytes: number): void {
    maxBytes = Math.min(MAX_BATCH_BYTES, bytes)
    growAt = performance.now() + GROW_AFTER_MS
  }

  return {
    /** Returns the time in ms until a request may be sent. */
    pauseMs: (): number => Math.max(0, pausedUntil - performance.now()),
    /** Maximum number of requests in flight. After a failure, a single one probes the gateway. */
    maxRequests: (): number => (failures > 0 ? 1 : MAX_REQUESTS),
    /** Maximum bytes of a batch with several calls. */
    maxBatchBytes: (): number => {
      if (performance.now() >= growAt) growTo(2 * maxBytes)
      return maxBytes
    },
    onAnswered: (): void => void (failures = 0),
    /** Pauses all requests after one without an answer. */
    onFailed: (retryAfterMs: number): void => {
      const now = performance.now()
      // Requests in flight at the same time count as one failure.
      if (now >= pausedUntil) failures += 1
      pausedUntil = Math.max(pausedUntil, now + retryDelayMs(failures, retryAfterMs, Math.random()))
    },
    /** Halves the maximum batch size after a 413: a proxy has a lower limit than the gateway. */
    onTooLarge: (bytes: number): void => growTo(Math.min(maxBytes, Math.floor(bytes / 2))),
  }
}

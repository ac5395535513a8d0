import { setTimeout as sleep } from 'node:timers/promises'

interface KeepTryingOptions {
  /** Log message of each failure. */
  readonly message: string
  readonly logger: { warn(fields: { readonly err: unknown; readonly backOffMs: number }, message: string): void }
  readonly signal?: AbortSignal
  /** Time after which the last failure is thrown. Default: Infinity. */
  readonly giveUpAfterMs?: number
  /** Default: see {@link backOffAfter}. */
  readonly longestBackOffMs?: number
  /** Returns true for an error that another attempt cannot fix. Default: `retryable` is false. */
  readonly isFinal?: (error: unknown) => boolean
}

const FIRST_BACK_OFF_MS = 50

/** Retries with back-off until an attempt succeeds. Throws a final error at once, and the signal's reason if aborted. */
export async function keepTrying<T>(attempt: () => Promise<T>, options: KeepTryingOptions): Promise<T> {
  const { message, logger, signal, giveUpAfterMs = Infinity, isFinal = isMarkedFinal } = options
  const giveUpAt = performance.now() + giveUpAfterMs
  for (let failures = 1; ; failures += 1) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal?.throwIfAborted()
      const backOffMs = backOffAfter(failures, options.longestBackOffMs)
      if (isFinal(error) || performance.now() + backOffMs > giveUpAt) throw error
      logger.warn({ err: error, backOffMs }, message)
      await sleep(backOffMs, undefined, signal && { signal }).catch(() => {})
    }
  }
}

/**
 * Returns the back-off in ms after consecutive failures: 50, doubled by each further failure up to `longestMs`, and varied by
 * half, so that processes do not retry in step.
 */
export function backOffAfter(failures: number, longestMs = 2_000): number {
  return Math.round(Math.min(FIRST_BACK_OFF_MS * 2 ** (failures - 1), longestMs) * (0.5 + Math.random()))
}

/** Returns true if the error is marked as not retryable. */
export function isMarkedFinal(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === false
}

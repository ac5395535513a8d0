import { setTimeout as sleep } from 'node:timers/promises'

import { backOffAfter } from './back-off.ts'
import type { Logger } from './log-connection.ts'

interface KeepTryingOptions {
  /** Log message of each failure. */
  readonly message: string
  readonly logger: Logger
  readonly signal?: AbortSignal
  /** Time after which the last failure is thrown. Default: Infinity. */
  readonly giveUpAfterMs?: number
}

const FIRST_BACK_OFF_MS = 50
const LONGEST_BACK_OFF_MS = 2_000

/** Retries with back-off until an attempt succeeds. Throws errors that are not `retryable`, and the signal's reason if aborted. */
export async function keepTrying<T>(attempt: () => Promise<T>, options: KeepTryingOptions): Promise<T> {
  const { message, logger, signal, giveUpAfterMs = Infinity } = options
  const giveUpAt = performance.now() + giveUpAfterMs
  for (let failures = 1; ; failures += 1) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal?.throwIfAborted()
      const backOffMs = backOffAfter(failures, FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS)
      if (isFinal(error) || performance.now() + backOffMs > giveUpAt) throw error
      logger.warn({ err: error, backOffMs }, message)
      await sleep(backOffMs * (0.5 + Math.random()), undefined, signal && { signal }).catch(() => {})
    }
  }
}

/** Returns true if the error is marked as not retryable. */
export function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === false
}

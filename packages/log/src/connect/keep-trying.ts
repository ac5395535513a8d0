import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from './log-connection.ts'

export interface KeepTryingOptions {
  /** What is logged after each failure. */
  readonly message: string
  readonly logger: Logger
  readonly signal?: AbortSignal
  /** After this time the last failure is thrown. Left out: never. */
  readonly giveUpAfterMs?: number
}

const firstBackOffMs = 50
const longestBackOffMs = 2_000

/** Tries until it succeeds, with back-off. Throws errors that are not `retryable`, and the signal's reason once aborted. */
export async function keepTrying<T>(attempt: () => Promise<T>, options: KeepTryingOptions): Promise<T> {
  const { message, logger, signal, giveUpAfterMs = Infinity } = options
  const giveUpAt = performance.now() + giveUpAfterMs
  for (let backOffMs = firstBackOffMs; ; backOffMs = Math.min(backOffMs * 2, longestBackOffMs)) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal?.throwIfAborted()
      if (isFinal(error) || performance.now() + backOffMs > giveUpAt) throw error
      logger.warn({ err: error, backOffMs }, message)
      await sleep(backOffMs * (0.5 + Math.random()), undefined, signal && { signal }).catch(() => {})
    }
  }
}

/** Whether an error says that another attempt cannot fix it. */
export function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === false
}

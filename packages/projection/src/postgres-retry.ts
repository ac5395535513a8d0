import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from './errors.ts'

export interface PostgresRetryOptions {
  readonly signal: AbortSignal
  readonly logger: Logger
  /** Where the work is, for the log. */
  readonly place: { readonly topic: string; readonly partition: number }
  readonly onRetry?: () => void
}

const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 2_000

/**
 * Tries until Postgres takes it; a projection's own errors that may pass are waited out likewise. Throws what trying
 * again can't mend, and {@link RunnerStoppedError} once aborted. What is tried has to be safe to do twice, since a failed
 * commit may have happened: commits are, by their fence.
 */
export async function retryWhilePostgresIsAway<T>(
  attempt: () => Promise<T>,
  options: PostgresRetryOptions,
): Promise<T> {
  const { signal, logger, place, onRetry } = options
  for (let backOffMs = FIRST_BACK_OFF_MS; ; backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS)) {
    if (signal.aborted) throw new RunnerStoppedError()
    try {
      return await attempt()
    } catch (error) {
      if (!mayPass(error)) throw error
      onRetry?.()
      logger.warn({ ...place, err: error, backOffMs }, 'Cannot be folded now; trying again')
      await sleep(backOffMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {})
    }
  }
}

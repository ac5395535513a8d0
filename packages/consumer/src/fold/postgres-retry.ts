import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from '../errors.ts'

export interface PostgresRetryOptions {
  readonly signal: AbortSignal
  readonly logger: Logger
  /** For the log. */
  readonly topicPartition: { readonly topic: string; readonly partition: number }
  readonly onRetry?: (error: unknown) => void
}

const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 2_000

/**
 * Tries until Postgres accepts the work. A projection's own errors that may pass are retried, too. Throws what another
 * attempt cannot fix, and {@link RunnerStoppedError} once aborted. The work must be safe to do twice, since a commit that
 * failed may have happened: commits are safe, by their fence.
 */
export async function retryWhilePostgresIsUnavailable<T>(
  attempt: () => Promise<T>,
  options: PostgresRetryOptions,
): Promise<T> {
  const { signal, logger, topicPartition, onRetry } = options
  for (let backOffMs = FIRST_BACK_OFF_MS; ; backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS)) {
    if (signal.aborted) throw new RunnerStoppedError()
    try {
      return await attempt()
    } catch (error) {
      if (!mayPass(error)) throw error
      onRetry?.(error)
      logger.warn({ ...topicPartition, err: error, backOffMs }, 'Cannot be folded now; trying again')
      await sleep(backOffMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {})
    }
  }
}

import { durationMs } from '@nextvisit/contracts'

/** Delays after the failed attempts of a delivery, ms: about three days in all. */
export const RETRY_DELAYS_MS: readonly number[] = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'].map(
  durationMs,
)
/** Longest time between two attempts, apart from jitter: of a delay, and of `Retry-After`. */
export const MAX_RETRY_DELAY_MS = 24 * 3_600_000
/** A delay is longer by up to this part, so that deliveries that failed together are not retried together. */
const JITTER = 0.1

interface FailedAttempt {
  /** Failed attempts since the delivery was created or retried, with this one. */
  readonly round: number
  /** The time that the endpoint asked to wait. */
  readonly retryAfterMs?: number | undefined
}

/**
 * Returns the time until the next attempt, ms; undefined: the delivery has failed. The later of delay and `Retry-After` applies.
 * `random`: from 0 to 1.
 */
export function retryDelayMs(
  { round, retryAfterMs = 0 }: FailedAttempt,
  { delaysMs = RETRY_DELAYS_MS, random }: { readonly delaysMs?: readonly number[]; readonly random: number },
): number | undefined {
  const delayMs = delaysMs[round - 1]
  if (delayMs === undefined) return undefined
  return Math.max(delayMs * (1 + JITTER * random), Math.min(retryAfterMs, MAX_RETRY_DELAY_MS))
}

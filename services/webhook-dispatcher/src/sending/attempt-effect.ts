import { retryDelayMs } from '@nextvisit/domain'
import type { Turn } from './due-turns.ts'
import type { Lane } from './lane.ts'
import { DISABLED_AFTER_MS, type FinishedAttempt } from './save-results.ts'
import type { AttemptResult } from './send-request.ts'

export const GONE = 410

interface Attempted {
  readonly lane: Lane
  readonly turn: Pick<Turn, 'replayId'>
  readonly isTest: boolean
  /** Attempts since the delivery was created or retried, with this one. */
  readonly round: number
}

/** The effect of an attempt on its delivery, and on the turn of the delivery. */
interface AttemptEffect {
  readonly attempt: Pick<FinishedAttempt, 'status' | 'countsInRound'>
  readonly turn?: { readonly nextAt: Date }
}

/**
 * Returns the effect of an attempt. A 410, and five days of failures, disable the endpoint: its deliveries wait until it is enabled again.
 * After a delivery, a turn keeps its place unless more users wait: then it goes behind them, however many deliveries its user has.
 */
export function effectOf(
  result: AttemptResult,
  { lane, turn, isTest, round }: Attempted,
  { now, retryDelaysMs }: { readonly now: Date; readonly retryDelaysMs: readonly number[] },
): AttemptEffect {
  if (result.outcome === 'delivered')
    return {
      attempt: { status: 'delivered', countsInRound: true },
      ...(lane.isCrowded(turn.replayId) && { turn: { nextAt: now } }),
    }
  if (isTest) return { attempt: { status: 'failed', countsInRound: true } }
  const { failingSince } = lane
  const isFailingLong = failingSince && now.getTime() - failingSince.getTime() >= DISABLED_AFTER_MS
  if (result.httpStatus === GONE || isFailingLong) {
    lane.disable()
    return { attempt: { status: 'pending', countsInRound: false } }
  }
  const { retryAfterMs } = result
  const delayMs = retryDelayMs({ round, retryAfterMs }, { delaysMs: retryDelaysMs, random: Math.random() })
  return delayMs === undefined
    ? { attempt: { status: 'failed', countsInRound: true } }
    : { attempt: { status: 'pending', countsInRound: true }, turn: { nextAt: new Date(now.getTime() + delayMs) } }
}

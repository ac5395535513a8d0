import type { Result, VisitAnswer } from './result.ts'

/** Delay in ms after an unanswered visit. */
const ASK_AGAIN_MS = 60_000
/** Maximum delay of `setTimeout` in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Schedule of the next visit. */
export interface Schedule {
  /** Delay in ms; 0 or less: never by time. */
  readonly afterMs: number
  /** True if it is also due at the next page. */
  readonly onNextPage: boolean
}

/**
 * Returns the schedule after a visit (docs/spec/decisions.md, Beyond the document). `pingAgainIn: 0` means not by time. After a
 * refusal, such as a revoked key, a repeat would be refused again.
 */
export function scheduleAfter(result: Result<VisitAnswer>): Schedule {
  if (result.outcome === 'refused') return { afterMs: 0, onNextPage: false }
  if (result.outcome === 'unanswered') return { afterMs: ASK_AGAIN_MS, onNextPage: true }
  const { pingAgainIn, pingOnNextPageVisit } = result.answer
  return { afterMs: Math.min(pingAgainIn * 1_000, LONGEST_TIMER_MS), onNextPage: pingOnNextPageVisit }
}

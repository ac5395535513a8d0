import type { Result, VisitAnswer } from './result.ts'

/** Minimum delay in ms after an unanswered visit. */
const SOONEST_MS = 1_000
/** Maximum delay of `setTimeout` in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Returns the schedule of the next visit (decisions.md, Beyond the document). `afterMs`: delay in ms; 0 or less:
 * never by time. `onNextPage`: also at the next page. After a refusal, such as a revoked key, a repeat would be refused again.
 * After no answer, it is due at the end of the pause (`leftMs`).
 */
export function scheduleAfter(
  result: Result<VisitAnswer>,
  leftMs: number,
): { readonly afterMs: number; readonly onNextPage?: boolean } {
  if (result.outcome === 'refused') return { afterMs: 0 }
  if (result.outcome === 'unanswered') return { afterMs: Math.max(SOONEST_MS, leftMs), onNextPage: true }
  const { pingAgainIn, pingOnNextPageVisit } = result.answer
  return { afterMs: Math.min(pingAgainIn * 1_000, LONGEST_TIMER_MS), onNextPage: pingOnNextPageVisit }
}

import type { Result, VisitAnswer } from './result.ts'

/** Delay in ms after an unanswered visit. */
const ASK_AGAIN_MS = 60_000
/** Maximum delay of `setTimeout` in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Returns the schedule of the next visit (decisions.md, Beyond the document). `afterMs`: delay in ms; 0 or less:
 * never by time. `onNextPage`: also at the next page. After a refusal, such as a revoked key, a repeat would be refused again.
 */
export function scheduleAfter(result: Result<VisitAnswer>): { readonly afterMs: number; readonly onNextPage: boolean } {
  if (result.outcome === 'refused') return { afterMs: 0, onNextPage: false }
  if (result.outcome === 'unanswered') return { afterMs: ASK_AGAIN_MS, onNextPage: true }
  const { pingAgainIn, pingOnNextPageVisit } = result.answer
  return { afterMs: Math.min(pingAgainIn * 1_000, LONGEST_TIMER_MS), onNextPage: pingOnNextPageVisit }
}

import type { Result, VisitAnswer } from './result.ts'

/** After a visit that was not answered. */
const ASK_AGAIN_MS = 60_000
/** Of `setTimeout`. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** When the next visit is due. */
export interface Schedule {
  /** Never by time if it is not more than 0. */
  readonly afterMs: number
  /** Also at the next page, whatever the time. */
  readonly onNextPage: boolean
}

/**
 * What a visit's answer asks for (docs/spec/decisions.md, Beyond the document). `pingAgainIn: 0` means not by time. After a
 * refusal, such as a revoked key, asking again would be refused again.
 */
export function scheduleAfter(result: Result<VisitAnswer>): Schedule {
  if (result.outcome === 'refused') return { afterMs: 0, onNextPage: false }
  if (result.outcome === 'unanswered') return { afterMs: ASK_AGAIN_MS, onNextPage: true }
  const { pingAgainIn, pingOnNextPageVisit } = result.answer
  return { afterMs: Math.min(pingAgainIn * 1_000, LONGEST_TIMER_MS), onNextPage: pingOnNextPageVisit }
}

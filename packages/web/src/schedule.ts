import type { Result, VisitAnswer } from './result.ts'

/** After a visit that was not answered. */
const ASK_AGAIN_MS = 60_000

/** When the next visit is due. */
export interface Schedule {
  /** By the clock of the page; `Infinity`: never by time. */
  readonly dueAtMs: number
  /** Also at the next page, whatever the time. */
  readonly onNextPage: boolean
}

/**
 * What a visit's answer asks for (docs/spec/decisions.md, Beyond the document). `pingAgainIn: 0` means not by time. After a
 * refusal, such as a revoked key, asking again would be refused again.
 */
export function scheduleAfter(result: Result<VisitAnswer>, nowMs: number): Schedule {
  if (result.outcome === 'refused') return { dueAtMs: Infinity, onNextPage: false }
  if (result.outcome === 'unanswered') return { dueAtMs: nowMs + ASK_AGAIN_MS, onNextPage: true }
  const { pingAgainIn, pingOnNextPageVisit } = result.answer
  return { dueAtMs: pingAgainIn > 0 ? nowMs + pingAgainIn * 1_000 : Infinity, onNextPage: pingOnNextPageVisit }
}

export function isDue(schedule: Schedule, nowMs: number, isNextPage: boolean): boolean {
  return nowMs >= schedule.dueAtMs || (isNextPage && schedule.onNextPage)
}

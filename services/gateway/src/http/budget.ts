/** One budget for everything that a request does (decisions.md, Track event). */
export const REQUEST_BUDGET_MS = 2_000

/** Kept for publishing and the evaluator's reply when the services that admission asks are slow or unavailable. */
const KEPT_FOR_PUBLISH_MS = 1_000

/** When admission stops asking and admits unchecked: `performance.now()` instants, as everywhere. */
export function admissionDeadline(deadlineAt: number): number {
  return deadlineAt - KEPT_FOR_PUBLISH_MS
}

export function remainingMs(deadlineAt: number): number {
  return Math.max(0, deadlineAt - performance.now())
}

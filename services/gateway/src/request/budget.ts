/**
 * One budget for everything that a request does, ms (decisions.md, Track event), unless `GATEWAY_REQUEST_BUDGET_MS` says
 * otherwise. Every other limit on a request's time follows from it.
 */
export const REQUEST_BUDGET_MS = 2_000

/** What admission may use of it. The rest is kept for publishing and the evaluator's reply, however slow admission is. */
export function admissionBudgetMs(requestBudgetMs: number): number {
  return requestBudgetMs / 2
}

/** What one request to Kafka may use of it. */
export function publishTimeoutMs(requestBudgetMs: number): number {
  return 0.75 * requestBudgetMs
}

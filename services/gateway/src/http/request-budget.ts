/**
 * Default of `GATEWAY_REQUEST_BUDGET_MS`: time for all work of a request in ms (decisions.md, Track event). The limits
 * after its body is read are shares of it.
 */
export const REQUEST_BUDGET_MS = 2_000

/** Returns the time for admission in ms. The rest is reserved for publishing and the evaluator's reply. */
export function admissionBudgetMs(requestBudgetMs: number): number {
  return requestBudgetMs / 2
}

/** Returns the longest waits for a turn in ms. A body still has all of its time for admission afterwards. */
export function turnWithinMs(requestBudgetMs: number): { readonly read: number; readonly largeBody: number } {
  return { read: 0.75 * requestBudgetMs, largeBody: 0.375 * requestBudgetMs }
}

/** Returns the timeout of a request to Kafka in ms. */
export function publishTimeoutMs(requestBudgetMs: number): number {
  return 0.75 * requestBudgetMs
}

/** Lifetime of a lease of room in ms, from before it was requested (docs/decisions/0017). */
export const ROOM_LEASE_MS = 250

/**
 * One budget for everything that a request does, ms (decisions.md, Track event), unless `GATEWAY_REQUEST_BUDGET_MS` says
 * otherwise. Limits on what follows the read of its body are shares of it.
 */
export const REQUEST_BUDGET_MS = 2_000

/** What admission may use of it. The rest is kept for publishing and the evaluator's reply, however slow admission is. */
export function admissionBudgetMs(requestBudgetMs: number): number {
  return requestBudgetMs / 2
}

/** How long reads and large bodies may wait for their turn. A body still has all of its time for admission then. */
export function turnWithinMs(requestBudgetMs: number): { readonly read: number; readonly largeBody: number } {
  return { read: 0.75 * requestBudgetMs, largeBody: 0.375 * requestBudgetMs }
}

/** What one request to Kafka may use of it. */
export function publishTimeoutMs(requestBudgetMs: number): number {
  return 0.75 * requestBudgetMs
}

/** Of the time for admission, what is kept for the check of names after waiting for room. */
const NAMES_SHARE = 2 / 5

/** What the check of names may use of it, however long a request waits for room. */
export function namesBudgetMs(requestBudgetMs: number): number {
  return NAMES_SHARE * admissionBudgetMs(requestBudgetMs)
}

/**
 * Whether requests wait for room so much longer than a lease lasts that they ask again when it is given back, up to a pause
 * later. Where they do not, nobody must lease: a request would be refused although there is room.
 */
export function outlastsRoomLease(requestBudgetMs: number): boolean {
  return admissionBudgetMs(requestBudgetMs) - namesBudgetMs(requestBudgetMs) >= 2 * ROOM_LEASE_MS
}

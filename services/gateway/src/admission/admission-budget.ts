import { admissionBudgetMs } from '../http/request-budget.ts'

/** Lifetime of a room lease in ms, from before it was requested (docs/decisions/0017). */
export const ROOM_LEASE_MS = 250

/** Share of the time for admission that is reserved for the check of names. */
const NAMES_SHARE = 2 / 5

/** Returns the time that the wait for room leaves to the check of names, in ms. */
export function namesBudgetMs(requestBudgetMs: number): number {
  return NAMES_SHARE * admissionBudgetMs(requestBudgetMs)
}

/** Share of the time for admission that the look-up of a user leaves to the other checks. */
const KEPT_FOR_OTHERS_SHARE = 1 / 10

/**
 * Returns the time that the look-up of a user leaves to the other checks, in ms: a silent user projector makes only its
 * own check impossible.
 */
export function keptForOthersMs(requestBudgetMs: number): number {
  return KEPT_FOR_OTHERS_SHARE * admissionBudgetMs(requestBudgetMs)
}

/** Share of the time for admission after which a service that answers nothing is silent. */
const SILENT_SHARE = 9 / 10

/**
 * Returns the time in ms after which a service that answers nothing is silent. It is shorter than a request waits: one that
 * comes after the last answer finds the service missing, not busy.
 */
export function silentAfterMs(requestBudgetMs: number): number {
  return SILENT_SHARE * admissionBudgetMs(requestBudgetMs)
}

/**
 * Returns true if requests wait for room long enough to ask again after a lease was given back. Otherwise gateways must
 * not lease: a request would be refused although there is room.
 */
export function outlastsRoomLease(requestBudgetMs: number): boolean {
  return admissionBudgetMs(requestBudgetMs) - namesBudgetMs(requestBudgetMs) >= 2 * ROOM_LEASE_MS
}

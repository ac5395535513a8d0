/** A short lag is normal. */
const LATE_AFTER_S = 10

/** Tells whether a consumer or a partition lags too far. Pages import it: keep this file free of imports. */
export function isLate(lagSeconds: number | null): boolean {
  return lagSeconds !== null && lagSeconds > LATE_AFTER_S
}

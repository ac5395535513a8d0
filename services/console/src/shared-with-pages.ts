/** Values that the server and the pages share. The bundle of the pages contains no zod: keep this file free of imports. */
export const MAX_WORKSPACE_CHARACTERS = 262_144
export const MAX_SIMULATED_DAYS = 90
/** Each step of a timeline reads the same number of records further back. */
export const MAX_DEPTH = 5

/** Filters of Live by outcome. */
export const LIVE_OUTCOMES = ['recorded', 'queued', 'delivered', 'ended', 'refused'] as const
/** Kinds of names that the trait registry keeps. */
export const NAME_KINDS = ['traits', 'events'] as const
/** Plans of the demo's users in *Try it*. */
export const DEMO_PLANS = ['pro', 'free'] as const

/** A short lag is normal. */
const LATE_AFTER_S = 10

/** Returns true if a consumer or a partition lags too far. */
export function isLate(lagSeconds: number | null): boolean {
  return lagSeconds !== null && lagSeconds > LATE_AFTER_S
}

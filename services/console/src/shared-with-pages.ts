import { LATE_AFTER_S } from '@nextvisit/contracts/thresholds'

/** Values that the server and the pages share. The bundle of the pages contains no zod: import no module that imports it. */
export const MAX_WORKSPACE_CHARACTERS = 262_144

/** Maximum lengths in Unicode code points, as zod counts. `maxLength` of an input counts UTF-16 units: see `unitsOf`. */
export const MAX_USER_NAME_CHARACTERS = 255
export const MAX_EVENT_NAME_CHARACTERS = 100
/** Name that a person gives at sign-in. */
export const MAX_NAME_CHARACTERS = 60
/** Address, below the console's, that leads to the identity provider. */
export const BEGIN_SIGN_IN_PATH = 'api/session/begin'
/** Reasons, in the address of a page, why a sign-in with the identity provider has failed. */
export const SIGN_IN_PROBLEMS = ['no-role', 'expired', 'refused', 'unavailable', 'too-many', 'no-sessions'] as const
export type SignInProblem = (typeof SIGN_IN_PROBLEMS)[number]
/** Part of a name that a list is searched for. */
export const MAX_SEARCH_CHARACTERS = 100

/** Returns the `maxLength` of an input that holds every text of `characters` code points. The server counts exactly. */
export function unitsOf(characters: number): number {
  return 2 * characters
}

export const MAX_SIMULATED_DAYS = 90
/** Each step of a timeline reads the same number of records further back. */
export const MAX_DEPTH = 5

/** Filters of Live by outcome. */
export const LIVE_OUTCOMES = ['recorded', 'queued', 'delivered', 'ended', 'refused'] as const
/** Kinds of names that the trait registry keeps. */
export const NAME_KINDS = ['traits', 'events'] as const
/** Plans of the demo's users in *Try it*. */
export const DEMO_PLANS = ['pro', 'free'] as const

/** Returns true if a consumer or a partition lags too far. */
export function isLate(lagSeconds: number | null): boolean {
  return lagSeconds !== null && lagSeconds > LATE_AFTER_S
}

/** Periods of results in UTC days, today included. */
export const RESULT_DAYS = ['7', '30', '90', 'all'] as const

/** Filters of deliveries by status. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const

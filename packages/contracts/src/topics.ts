/** The three topics. Settings are applied by `nextvisit` (or the local stack) when they are created. */
export const TOPICS = {
  /** Facts about users, keyed by userId: `IdentifyRequested`, `EventTracked`, `VisitAnswered`. */
  userEvents: 'user-events',
  /** The evaluator's decisions, keyed by userId: `FormQueued`, `FormDelivered`, `FormCancelled`, `FormExpired`. */
  formEvents: 'form-events',
  /** Configuration, keyed by organization: `OrganizationConfigured`. One partition; never compacted. */
  catalog: 'catalog',
} as const

export type Topic = (typeof TOPICS)[keyof typeof TOPICS]

/** Default number of partitions of `user-events` and `form-events`. Never grown without a plan: order is per partition. */
export const DEFAULT_PARTITIONS = 12

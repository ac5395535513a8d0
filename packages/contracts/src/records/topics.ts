/** The three topics. `nextvisit topics create` and the local stack create them with their options. */
export const TOPICS = {
  /** Facts about users, keyed by userId: `IdentifyRequested`, `EventTracked`, `VisitAnswered`. */
  userEvents: 'user-events',
  /** The evaluator's decisions, keyed by userId: `FormQueued`, `FormDelivered`, `FormCancelled`, `FormExpired`. */
  formEvents: 'form-events',
  /** Configuration, keyed by organization, revision and id: `OrganizationConfigured`. One partition; compacted. */
  catalog: 'catalog',
} as const

export type Topic = (typeof TOPICS)[keyof typeof TOPICS]

/** Returns the consumer group of a consumer service. */
export function consumerGroupOf(service: string): string {
  return `nextvisit.${service}`
}

/** The consumer group of the user projector. Its notes contain the number of partitions over which keys are spread. */
export const USER_PROJECTOR_GROUP = consumerGroupOf('user-projector')

/** Default number of partitions of `user-events` and `form-events`. Adding partitions later would break the order per user. */
export const DEFAULT_PARTITIONS = 12

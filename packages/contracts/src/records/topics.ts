/** The topics of records. `nextvisit topics create` and the local stack create them with their options. */
export const TOPICS = {
  /** Facts about users, keyed by userId: `IdentifyRequested`, `EventTracked`, `AnswerGiven`, `VisitAnswered`, `UserErased`. */
  userEvents: 'user-events',
  /**
   * The evaluator's decisions, keyed by userId: `FormQueued`, `FormDelivered`, `FormCancelled`, `FormExpired`, `FormAnswered`,
   * `QueueErased`. Of the user projector, changed memberships: `SegmentEntered`, `SegmentLeft`.
   */
  formEvents: 'form-events',
  /** Configuration: `OrganizationConfigured`, `FormContentApplied`; each record has its own key. One partition; compacted. */
  catalog: 'catalog',
  /** Requests to erase users: `ErasureRequested`, `SuppressionLifted`, `ErasureCompleted`. One partition; kept forever. */
  erasures: 'erasures',
  /** Changes that operators ask for: `ChangeRequested`, `ChangeEnded`. One partition; kept forever. No consumer folds it. */
  operatorChanges: 'operator-changes',
} as const

/**
 * Wrapped data keys of users, in the partitions of `user-events`: `userId/keyId`, and no value once the key is destroyed.
 * Compacted. It holds no records: a key has no headers.
 */
export const USER_KEYS_TOPIC = 'user-keys'

/** Number of segments of `user-keys` that fill `ERASURE_KEY_RETENTION`. */
export const SEGMENTS_A_KEY_RETENTION = 4

export type Topic = (typeof TOPICS)[keyof typeof TOPICS]

/** Topics whose records have one order. `KAFKA_PARTITIONS` does not apply to them. */
export const SINGLE_PARTITION_TOPICS: ReadonlySet<string> = new Set([
  TOPICS.catalog,
  TOPICS.erasures,
  TOPICS.operatorChanges,
])

/** Returns the consumer group of a consumer service. */
export function consumerGroupOf(service: string): string {
  return `nextvisit.${service}`
}

/** The consumer group of the user projector. Its notes contain the number of partitions over which keys are spread. */
export const USER_PROJECTOR_GROUP = consumerGroupOf('user-projector')

/** Default number of partitions of `user-events`, `form-events` and `user-keys`. Adding partitions later would break the order per user. */
export const DEFAULT_PARTITIONS = 12

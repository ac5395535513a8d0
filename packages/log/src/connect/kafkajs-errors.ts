// Classifies errors that kafkajs throws, by their names and types: its error classes are not exported for ES modules.

/** Returns true if another attempt may succeed. For this package's own errors: their `retryable`. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('retryable' in error) return error.retryable === true
  // kafkajs retries only retryable errors.
  if (hasGivenUp(error)) return true
  if (error.name === 'KafkaJSNonRetriableError' && error.cause) return isRetryable(error.cause)
  if ('retriable' in error) return error.retriable !== false
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
}

/** Returns true if kafkajs has used up its retries. */
export function hasGivenUp(error: unknown): boolean {
  return error instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded'
}

const REBALANCING = ['REBALANCE_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP', 'ILLEGAL_GENERATION']

/** Returns true if the broker did not answer a request in time. */
export function isOverdue(error: unknown): boolean {
  return error instanceof Error && error.name === 'KafkaJSRequestTimeoutError'
}

/** Returns true if a member must rejoin its group: the group rebalances, or a topic has more partitions. */
export function mustJoinAgain(error: unknown): boolean {
  if (error instanceof Error && error.name === 'KafkaJSStaleTopicMetadataAssignment') return true
  return isUnknownMember(error) || isOfType(error, REBALANCING)
}

/** Returns true if the group has evicted the member. */
export function isUnknownMember(error: unknown): boolean {
  return isOfType(error, ['UNKNOWN_MEMBER_ID'])
}

/** Returns true if the topic does not exist. */
export function isUnknownTopic(error: unknown): boolean {
  return isOfType(error, ['UNKNOWN_TOPIC_OR_PARTITION'])
}

/** Returns true if the cluster has not settled: it has no controller, a partition has no leader, or a request timed out. */
export function isUnsettled(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isOfType(error, ['LEADER_NOT_AVAILABLE', 'REQUEST_TIMED_OUT']) || error.name === 'KafkaJSBrokerNotFound'
}

/** Returns true if fewer brokers are registered than the new topic's replicas. */
export function hasTooFewBrokers(error: unknown): boolean {
  return isOfType(error, ['INVALID_REPLICATION_FACTOR'])
}

/** Returns the first cause of kafkajs' error for several topics, and any other error unchanged. */
export function firstOf(error: unknown): unknown {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors[0] ?? error) : error
}

/** Returns true if the principal lacks the permission for the request. */
export function isForbidden(error: unknown): boolean {
  return isOfType(error, ['TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED'])
}

/** Returns true if the error has one of these types. An aggregate matches if all of its errors do. */
function isOfType(error: unknown, types: readonly string[]): boolean {
  if (!(error instanceof Error)) return false
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.every((each) => isOfType(each, types))
  return ('type' in error && types.includes(String(error.type))) || isOfType(error.cause, types)
}

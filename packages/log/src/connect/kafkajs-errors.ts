/** Judgements of errors that kafkajs throws. Its error classes are told by name and type. */

/** Whether another attempt may succeed. Of an error of ours its `retryable`. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('retryable' in error) return error.retryable === true
  // kafkajs has retried what may be retried.
  if (hasGivenUp(error)) return true
  if (error.name === 'KafkaJSNonRetriableError' && error.cause) return isRetryable(error.cause)
  if ('retriable' in error) return error.retriable !== false
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
}

/** Whether kafkajs has tried as often as it may. */
export function hasGivenUp(error: unknown): boolean {
  return error instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded'
}

const REBALANCING = ['REBALANCE_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP', 'ILLEGAL_GENERATION']

/** Whether a request was not answered in time. */
export function isOverdue(error: unknown): boolean {
  return error instanceof Error && error.name === 'KafkaJSRequestTimeoutError'
}

/** Whether a member has to join its group again: the group rebalances, or a topic has more partitions. */
export function mustJoinAgain(error: unknown): boolean {
  if (error instanceof Error && error.name === 'KafkaJSStaleTopicMetadataAssignment') return true
  return isUnknownMember(error) || isOfType(error, REBALANCING)
}

/** Whether the group does not know the member any more. */
export function isUnknownMember(error: unknown): boolean {
  return isOfType(error, ['UNKNOWN_MEMBER_ID'])
}

/** Whether kafkajs failed because there is no such topic. */
export function isUnknownTopic(error: unknown): boolean {
  return isOfType(error, ['UNKNOWN_TOPIC_OR_PARTITION'])
}

/** Whether kafkajs failed because the cluster has not settled yet: it names no controller, a partition no leader, or it is slow. */
export function isUnsettled(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isOfType(error, ['LEADER_NOT_AVAILABLE', 'REQUEST_TIMED_OUT']) || error.name === 'KafkaJSBrokerNotFound'
}

/** Whether a topic was not created because fewer brokers are registered than it shall have replicas. */
export function hasTooFewBrokers(error: unknown): boolean {
  return isOfType(error, ['INVALID_REPLICATION_FACTOR'])
}

/** Of kafkajs' error for several topics the first one: it says what is wrong. Another error itself. */
export function firstOf(error: unknown): unknown {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? (error.errors[0] ?? error) : error
}

/** Whether the cluster has denied this principal the request. */
export function isForbidden(error: unknown): boolean {
  return isOfType(error, ['TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED'])
}

/** Of several errors each must be of these types. */
function isOfType(error: unknown, types: readonly string[]): boolean {
  if (!(error instanceof Error)) return false
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.every((each) => isOfType(each, types))
  return ('type' in error && types.includes(String(error.type))) || isOfType(error.cause, types)
}

// Classifies errors that kafkajs throws, by their names and types: its error classes are not exported for ES modules.

import { BrokerUnreachableError, PartitionRefusedError } from '../errors.ts'

/** Returns true if Kafka was unavailable, or did not answer in time: another attempt may succeed. */
export function isLogUnavailable(error: unknown): boolean {
  if (error instanceof BrokerUnreachableError || error instanceof PartitionRefusedError) return error.retryable
  return error instanceof Error && error.name.startsWith('KafkaJS') && isRetryable(error)
}

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

/** Returns true if the broker did not answer a request in time. */
export function isOverdue(error: unknown): boolean {
  return error instanceof Error && error.name === 'KafkaJSRequestTimeoutError'
}

/** Returns true if the error has one of Kafka's types. An aggregate matches if all of its errors do. */
export function hasType(error: unknown, ...types: readonly string[]): boolean {
  if (!(error instanceof Error)) return false
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.every((each) => hasType(each, ...types))
  return ('type' in error && types.includes(String(error.type))) || hasType(error.cause, ...types)
}

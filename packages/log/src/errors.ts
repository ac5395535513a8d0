import { isTemporary, nameOfError } from './wire/error-codes.ts'

/** What this package throws, or passes on as a cause. `retryable`: the same call may succeed later. */
abstract class LogError extends Error {
  abstract readonly code: string
  abstract readonly retryable: boolean
  override get name(): string {
    return this.constructor.name
  }
}

/** No broker answered in time, or none accepted the credentials. Check `KAFKA_BROKERS`, TLS and credentials, and that a broker is up. */
export class BrokerUnreachableError extends LogError {
  readonly code = 'BROKER_UNREACHABLE'
  readonly retryable = true

  constructor(withinMs: number, options: ErrorOptions = {}) {
    const because = rootMessageOf(options.cause)
    super(
      `No broker could be reached, waiting at most ${withinMs} ms${because && ` (${because})`}; check the addresses, TLS and credentials, and that a broker is up`,
      options,
    )
  }
}

/** kafkajs wraps the error. */
function rootMessageOf(cause: unknown): string {
  if (!(cause instanceof Error) || cause instanceof BrokerUnreachableError) return ''
  return cause.cause === undefined ? cause.message : rootMessageOf(cause.cause)
}

/** A request was not answered in time. Its effect may have happened or not. */
export class RequestOverdueError extends LogError {
  readonly code = 'REQUEST_OVERDUE'
  readonly retryable = true

  constructor(withinMs: number) {
    super(`The broker did not answer within ${withinMs} ms; what was asked may have happened or not`)
  }
}

/** The caller's deadline passed while its record was in flight. */
export class AnswerOverdueError extends LogError {
  readonly code = 'ANSWER_OVERDUE'
  readonly retryable = true

  constructor() {
    super("The record was sent, but its answer did not come before the caller's deadline")
  }
}

/** The broker answered a request, but said nothing about this record's partition. Check that the partition exists. */
export class PartitionUnansweredError extends LogError {
  readonly code = 'PARTITION_UNANSWERED'
  readonly retryable = true

  constructor(topic: string, partition: number) {
    super(`The broker's answer left out partition ${partition} of ${topic}; check that the partition exists`)
  }
}

/** The publisher was stopped while the record was in flight. */
export class PublisherStoppedError extends LogError {
  readonly code = 'PUBLISHER_STOPPED'
  readonly retryable = true

  constructor() {
    super('The publisher was stopped before the answer to this record came')
  }
}

/** A topic does not exist. Create it first: nothing here creates topics on its own. */
export class TopicMissingError extends LogError {
  readonly code = 'TOPIC_MISSING'
  readonly retryable = true

  constructor(topics: readonly string[], options?: ErrorOptions) {
    super(`Topic missing: ${topics.join(', ')}; create it first`, options)
  }
}

/**
 * A topic has another number of partitions than it had. A key's records would go to another partition than before, beside
 * those that are there: order and read models of a user would break. Nothing is published or read until somebody decides.
 */
export class PartitionsChangedError extends LogError {
  readonly code = 'PARTITIONS_CHANGED'
  readonly retryable = true
  readonly found: number
  readonly expected: number

  constructor(
    topic: string,
    found: number,
    expected: number,
    what = `${topic} has ${found} partitions, not ${expected}`,
  ) {
    super(`${what}: see docs/runbooks/partitions.md`)
    this.found = found
    this.expected = expected
  }
}

/** In production, a cluster that could lose acknowledged records. Change the settings that are named. */
export class UnsafeClusterError extends LogError {
  readonly code = 'UNSAFE_CLUSTER'
  readonly retryable = false

  constructor(settings: readonly string[]) {
    super(`The cluster could lose acknowledged records; change ${settings.join(', ')}`)
  }
}

/** The cluster does not let this principal read the topics' settings. Grant what is named. */
export class SettingsForbiddenError extends LogError {
  readonly code = 'SETTINGS_FORBIDDEN'
  readonly retryable = false

  constructor(principal: string, topics: readonly string[], options: ErrorOptions) {
    super(
      `${principal} may not read the cluster's settings, so whether acknowledged records are safe was not checked; allow it DescribeConfigs and Describe on ${topics.join(', ')}`,
      options,
    )
  }
}

/**
 * A position lies outside the log: the topic was created again, or retention deleted records that were not yet read.
 * kafkajs would silently continue elsewhere. Reading stops instead, until an operator decides.
 */
export class PositionOutsideLogError extends LogError {
  readonly code = 'POSITION_OUTSIDE_LOG'
  readonly retryable = false

  constructor(topic: string, partition: number, position: bigint | undefined, options?: ErrorOptions) {
    super(
      `Position ${position ?? 'none'} of ${topic}/${partition} is not in the log; was the topic created again, or is its retention too short?`,
      options,
    )
  }
}

/** A broker refused a partition's part of a request. */
export class PartitionRefusedError extends LogError {
  readonly code = 'PARTITION_REFUSED'
  readonly retryable: boolean

  constructor(topic: string, partition: number, errorCode: number) {
    super(`The broker refused ${topic}/${partition}: ${nameOfError(errorCode)}`)
    this.retryable = isTemporary(errorCode)
  }
}

/**
 * The records from a position on cannot be decoded: a broker's disk or a producer has damaged their batch, or it is larger
 * than may be, once it is decompressed. Reading stops, until an operator decides.
 */
export class UndecodableBatchError extends LogError {
  readonly code = 'BATCH_UNDECODABLE'
  readonly retryable = false

  constructor(topic: string, partition: number, position: bigint, options: { readonly cause: unknown }) {
    super(
      `The batch at offset ${position} of ${topic}/${partition} cannot be decoded: ${String(options.cause)}`,
      options,
    )
  }
}

/** Reason with which a group member closes its connections. Requests in flight reject with it. */
export class MemberClosedError extends LogError {
  readonly code = 'MEMBER_CLOSED'
  readonly retryable = false

  constructor() {
    super('The group member has closed its connections')
  }
}

import { describeErrorCode } from './wire/error-codes.ts'

/** Base of errors that callers tell apart. `retryable`: the same call may succeed later. */
export abstract class CodedError extends Error {
  abstract readonly code: string
  abstract readonly retryable: boolean
  override get name(): string {
    return this.constructor.name
  }
}

/** No broker answered in time, or no broker accepted the credentials. Check `KAFKA_BROKERS`, TLS and the brokers. */
export class BrokerUnreachableError extends CodedError {
  readonly code = 'BROKER_UNREACHABLE'
  readonly retryable = true

  constructor(withinMs: number, options: ErrorOptions = {}) {
    const rootMessage = rootMessageOf(options.cause)
    super(
      `No broker could be reached within ${withinMs} ms${rootMessage && ` (${rootMessage})`}; check the addresses, TLS and credentials, and that a broker is up`,
      options,
    )
  }
}

/** Returns the innermost message: kafkajs wraps its errors. */
function rootMessageOf(cause: unknown): string {
  if (!(cause instanceof Error) || cause instanceof BrokerUnreachableError) return ''
  return cause.cause === undefined ? cause.message : rootMessageOf(cause.cause)
}

/** The causes of an unknown publish outcome, by their code. */
const NOT_ACKNOWLEDGED = {
  REQUEST_OVERDUE: 'The broker did not answer within the request timeout',
  ANSWER_OVERDUE: "The broker did not acknowledge the record before the caller's deadline",
  PARTITION_UNANSWERED: "The broker's response omits the record's partition; check that the partition exists",
  PUBLISHER_STOPPED: 'The publisher was stopped before the broker acknowledged the record',
}

/** A record was sent but not acknowledged. It may or may not be in the log. */
export class NotAcknowledgedError extends CodedError {
  readonly retryable = true
  readonly code: keyof typeof NOT_ACKNOWLEDGED

  constructor(code: keyof typeof NOT_ACKNOWLEDGED, detail?: string) {
    super(NOT_ACKNOWLEDGED[code] + (detail === undefined ? '' : ` (${detail})`))
    this.code = code
  }
}

/** A topic does not exist. Create it first: this package creates no topics implicitly. */
export class TopicMissingError extends CodedError {
  readonly code = 'TOPIC_MISSING'
  readonly retryable = true

  constructor(topics: readonly string[], options?: ErrorOptions) {
    super(`Topic missing: ${topics.join(', ')}; create it first`, options)
  }
}

/**
 * The number of a topic's partitions has changed. The records of a key would move to another partition, which breaks the
 * order of a user's records and the read models. Publishing and reading stop until an operator acts.
 */
export class PartitionsChangedError extends CodedError {
  readonly code = 'PARTITIONS_CHANGED'
  readonly retryable = true
  readonly found: number
  readonly expected: number

  constructor(
    topic: string,
    found: number,
    expected: number,
    change = `${topic} has ${found} partitions, not ${expected}`,
  ) {
    super(`${change}: see docs/runbooks/partitions.md`)
    this.found = found
    this.expected = expected
  }
}

/** In production: the cluster could lose acknowledged records. Change the listed settings. */
export class UnsafeClusterError extends CodedError {
  readonly code = 'UNSAFE_CLUSTER'
  readonly retryable = false

  constructor(settings: readonly string[]) {
    super(`The cluster could lose acknowledged records; change ${settings.join(', ')}`)
  }
}

/** The principal may not read the topics' settings. Grant the permissions in the message. */
export class SettingsForbiddenError extends CodedError {
  readonly code = 'SETTINGS_FORBIDDEN'
  readonly retryable = false

  constructor(principal: string, topics: readonly string[], options: ErrorOptions) {
    super(
      `${principal} may not read the cluster's settings, so the safety of acknowledged records was not checked; allow it DescribeConfigs and Describe on ${topics.join(', ')}`,
      options,
    )
  }
}

/**
 * A position is outside the log: the topic was recreated, or retention deleted unread records. Reading stops until an
 * operator acts.
 */
export class PositionOutsideLogError extends CodedError {
  readonly code = 'POSITION_OUTSIDE_LOG'
  readonly retryable = false

  constructor(topic: string, partition: number, position: bigint | undefined, options?: ErrorOptions) {
    super(
      `Position ${position ?? 'none'} of ${topic}/${partition} is not in the log; was the topic recreated, or is its retention too short?`,
      options,
    )
  }
}

/** The broker refused one partition of a request. */
export class PartitionRefusedError extends CodedError {
  readonly code = 'PARTITION_REFUSED'
  readonly retryable: boolean
  /** True if the leader checks the cause before it appends records, so it has appended none. */
  readonly isBeforeAppend: boolean

  constructor(topic: string, partition: number, errorCode: number) {
    const { name, isRetryable, isBeforeAppend } = describeErrorCode(errorCode)
    super(`The broker refused ${topic}/${partition}: ${name}`)
    this.retryable = isRetryable
    this.isBeforeAppend = isBeforeAppend
  }
}

/**
 * A batch cannot be decoded: a broker's disk or a producer damaged it, or it is too large (`decode-batch.ts`). Reading it
 * needs an operator's decision.
 */
export class UndecodableBatchError extends CodedError {
  readonly code = 'BATCH_UNDECODABLE'
  readonly retryable = false

  /** `lastOffset`: absent if the range of the batch is unknown, so that reading cannot continue after it. */
  constructor(
    topic: string,
    partition: number,
    position: bigint,
    { cause, lastOffset = position }: { readonly cause: unknown; readonly lastOffset?: bigint },
  ) {
    const offsets = lastOffset > position ? `offsets ${position} to ${lastOffset}` : `offset ${position}`
    const because = cause instanceof Error ? cause.message : String(cause)
    super(`The batch at ${offsets} of ${topic}/${partition} cannot be decoded: ${because}`, { cause })
  }
}

/** Reason with which a group member closes its connections. Requests in flight reject with it. */
export class MemberClosedError extends CodedError {
  readonly code = 'MEMBER_CLOSED'
  readonly retryable = false

  constructor() {
    super('The group member has closed its connections')
  }
}

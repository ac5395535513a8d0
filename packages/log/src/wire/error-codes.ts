export const NO_ERROR = 0
export const OFFSET_OUT_OF_RANGE = 1

/** Kafka's error codes of single partitions. */
const NAMES: Readonly<Record<number, string>> = {
  [-1]: 'UNKNOWN_SERVER_ERROR',
  [OFFSET_OUT_OF_RANGE]: 'OFFSET_OUT_OF_RANGE',
  2: 'CORRUPT_MESSAGE',
  3: 'UNKNOWN_TOPIC_OR_PARTITION',
  5: 'LEADER_NOT_AVAILABLE',
  6: 'NOT_LEADER_OR_FOLLOWER',
  7: 'REQUEST_TIMED_OUT',
  9: 'REPLICA_NOT_AVAILABLE',
  10: 'MESSAGE_TOO_LARGE',
  13: 'NETWORK_EXCEPTION',
  18: 'RECORD_LIST_TOO_LARGE',
  19: 'NOT_ENOUGH_REPLICAS',
  20: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  29: 'TOPIC_AUTHORIZATION_FAILED',
  31: 'CLUSTER_AUTHORIZATION_FAILED',
  45: 'OUT_OF_ORDER_SEQUENCE_NUMBER',
  46: 'DUPLICATE_SEQUENCE_NUMBER',
  47: 'INVALID_PRODUCER_EPOCH',
  56: 'KAFKA_STORAGE_ERROR',
  59: 'UNKNOWN_PRODUCER_ID',
  74: 'FENCED_LEADER_EPOCH',
  75: 'UNKNOWN_LEADER_EPOCH',
  76: 'UNSUPPORTED_COMPRESSION_TYPE',
  78: 'OFFSET_NOT_AVAILABLE',
  87: 'INVALID_RECORD',
  90: 'PRODUCER_FENCED',
}

/** Another broker leads the partition, it has too few replicas, or its broker has a problem of its own. */
const RETRYABLE = new Set([-1, 2, 3, 5, 6, 7, 9, 13, 19, 20, 56, 74, 75, 78])

/** The leader checks these before it appends. */
const BEFORE_APPEND = new Set([2, 10, 18, 19, 29, 31, 45, 47, 59, 76, 87, 90])

/**
 * Describes an error code of Kafka. `isRetryable`: the same request may succeed later. `isBeforeAppend`: a leader that answers a
 * produce request with it has not appended the records.
 */
export function describeErrorCode(errorCode: number) {
  return {
    name: NAMES[errorCode] ?? `error ${errorCode}`,
    isRetryable: RETRYABLE.has(errorCode),
    isBeforeAppend: BEFORE_APPEND.has(errorCode),
  }
}

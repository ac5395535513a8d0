export const NO_ERROR = 0
export const OFFSET_OUT_OF_RANGE = 1

/** Of Kafka's error codes for a partition those that pass: another broker leads it, or it has too few replicas. */
const TEMPORARY: Readonly<Record<number, string>> = {
  2: 'CORRUPT_MESSAGE',
  3: 'UNKNOWN_TOPIC_OR_PARTITION',
  5: 'LEADER_NOT_AVAILABLE',
  6: 'NOT_LEADER_OR_FOLLOWER',
  7: 'REQUEST_TIMED_OUT',
  9: 'REPLICA_NOT_AVAILABLE',
  13: 'NETWORK_EXCEPTION',
  19: 'NOT_ENOUGH_REPLICAS',
  20: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  56: 'KAFKA_STORAGE_ERROR',
  74: 'FENCED_LEADER_EPOCH',
  75: 'UNKNOWN_LEADER_EPOCH',
  78: 'OFFSET_NOT_AVAILABLE',
}

/** Those that an operator can read something from. */
const LASTING: Readonly<Record<number, string>> = {
  [-1]: 'UNKNOWN_SERVER_ERROR',
  [OFFSET_OUT_OF_RANGE]: 'OFFSET_OUT_OF_RANGE',
  10: 'MESSAGE_TOO_LARGE',
  18: 'RECORD_LIST_TOO_LARGE',
  29: 'TOPIC_AUTHORIZATION_FAILED',
  31: 'CLUSTER_AUTHORIZATION_FAILED',
  45: 'OUT_OF_ORDER_SEQUENCE_NUMBER',
  47: 'INVALID_PRODUCER_EPOCH',
  59: 'UNKNOWN_PRODUCER_ID',
  76: 'UNSUPPORTED_COMPRESSION_TYPE',
  87: 'INVALID_RECORD',
}

/** Whether the same request may succeed later. */
export function isTemporary(errorCode: number): boolean {
  return errorCode in TEMPORARY
}

/** Kafka's name of an error code, where it is one of those that a partition is refused with. */
export function nameOfError(errorCode: number): string {
  return TEMPORARY[errorCode] ?? LASTING[errorCode] ?? `error ${errorCode}`
}

import { PartitionsChangedError, TopicMissingError } from './errors.ts'
import type { LogConnection } from './log-connection.ts'
import { withLogAdmin } from './with-log-admin.ts'

/** How the keys of `user-events` and `form-events` are spread over partitions. */
export interface ExpectedPartitions {
  /** Keys belong to the first so many. */
  readonly keys: number
  /** So many the topic has. More than `keys` only after an operator added some by mistake: they stay empty. */
  readonly inTopic: number
}

/**
 * Over how many partitions keys are spread. Throws {@link PartitionsChangedError} unless the topic has as many as expected,
 * and TopicMissingError where it has none.
 */
export function requirePartitions(topic: string, found: number, { keys, inTopic }: ExpectedPartitions): number {
  if (found === 0) throw new TopicMissingError([topic])
  if (found !== inTopic) throw new PartitionsChangedError(topic, found, inTopic)
  return keys
}

/** Asks Kafka, and throws like {@link requirePartitions}. A connection without an expectation takes the topic as it is. */
export async function readPartitionCount(connection: LogConnection, topic: string): Promise<number> {
  const found = await withLogAdmin(connection, (admin) => admin.partitionCount(topic))
  return requirePartitions(topic, found, connection.partitions ?? { keys: found, inTopic: found })
}

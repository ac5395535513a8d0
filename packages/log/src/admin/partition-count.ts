import type { ExpectedPartitions, LogConnection } from '../connect/log-connection.ts'
import { PartitionsChangedError, TopicMissingError } from '../errors.ts'
import type { LogAdmin } from './log-admin.ts'
import { withLogAdmin } from './with-log-admin.ts'

/**
 * Returns the number of partitions that keys are spread over. Throws {@link PartitionsChangedError} unless the topic has the
 * expected number, and TopicMissingError if it has none.
 */
export function requirePartitions(topic: string, found: number, { keys, inTopic }: ExpectedPartitions): number {
  if (found === 0) throw new TopicMissingError([topic])
  if (found !== inTopic) throw new PartitionsChangedError(topic, found, inTopic)
  return keys
}

/**
 * Reads the count from Kafka. Throws like {@link requirePartitions} if `expected` is given, and if the notes of the consumer
 * group `foldedBy` say that the keys of folded records were spread otherwise.
 */
export async function countPartitions(
  admin: Pick<LogAdmin, 'partitionCount' | 'groupNotes'>,
  {
    topic,
    expected,
    foldedBy,
  }: {
    readonly topic: string
    readonly expected?: ExpectedPartitions | undefined
    readonly foldedBy?: string | undefined
  },
): Promise<number> {
  const found = await admin.partitionCount(topic)
  const keys = requirePartitions(topic, found, expected ?? { keys: found, inTopic: found })
  const notes = foldedBy === undefined ? new Map<number, string>() : await admin.groupNotes(foldedBy, topic)
  const changed = foldedOtherwise(topic, [...notes.values()].flatMap(keysInNote), keys)
  if (changed) throw changed
  return keys
}

/** Counts like {@link countPartitions}, over a new connection. */
export function readPartitionCount(connection: LogConnection, topic: string, foldedBy?: string): Promise<number> {
  const { partitions: expected } = connection
  return withLogAdmin(connection, (admin) => countPartitions(admin, { topic, expected, foldedBy }))
}

/** Returns an error if the keys of folded records were spread over another number of partitions than `keys`. */
export function foldedOtherwise(
  topic: string,
  folded: readonly number[],
  keys: number,
): PartitionsChangedError | undefined {
  const other = folded.find((one) => one !== keys)
  if (other === undefined) return undefined
  const change = `the keys of ${topic} were spread over ${other} partitions, and would now be over ${keys}`
  return new PartitionsChangedError(topic, keys, other, change)
}

/** Returns the note that group readers commit with their offsets, for processes without a database. */
export function keysNote({ keys }: ExpectedPartitions): string {
  return `keys=${keys}`
}

function keysInNote(note: string): readonly number[] {
  const [, keys] = /^keys=(\d{1,6})$/.exec(note) ?? []
  return keys === undefined ? [] : [Number(keys)]
}

import type { ExpectedPartitions, LogConnection } from '../connect/log-connection.ts'
import { PartitionsChangedError, TopicMissingError } from '../errors.ts'
import type { LogAdmin } from './log-admin.ts'
import { withLogAdmin } from './with-log-admin.ts'

/**
 * Over how many partitions keys are spread. Throws {@link PartitionsChangedError} unless the topic has as many as expected,
 * and TopicMissingError where it has none.
 */
export function requirePartitions(topic: string, found: number, { keys, inTopic }: ExpectedPartitions): number {
  if (found === 0) throw new TopicMissingError([topic])
  if (found !== inTopic) throw new PartitionsChangedError(topic, found, inTopic)
  return keys
}

export interface PartitionCountQuestion {
  readonly topic: string
  /** Left out: the topic is taken as it is. */
  readonly expected?: ExpectedPartitions | undefined
  /** The consumer group that knows how the keys of folded records were spread. */
  readonly foldedBy?: string | undefined
}

/** Asks Kafka, and throws like {@link requirePartitions}, and where `foldedBy` has folded records whose keys were spread otherwise. */
export async function countPartitions(
  admin: Pick<LogAdmin, 'partitionCount' | 'groupNotes'>,
  { topic, expected, foldedBy }: PartitionCountQuestion,
): Promise<number> {
  const found = await admin.partitionCount(topic)
  const keys = requirePartitions(topic, found, expected ?? { keys: found, inTopic: found })
  const notes = foldedBy === undefined ? new Map<number, string>() : await admin.groupNotes(foldedBy, topic)
  const changed = foldedOtherwise(topic, [...notes.values()].flatMap(keysInNote), keys)
  if (changed) throw changed
  return keys
}

/** The same over a connection of its own. */
export function readPartitionCount(connection: LogConnection, topic: string, foldedBy?: string): Promise<number> {
  const { partitions: expected } = connection
  return withLogAdmin(connection, (admin) => countPartitions(admin, { topic, expected, foldedBy }))
}

/** Why nothing may be published or folded where the keys of folded records were spread over so many partitions. */
export function foldedOtherwise(
  topic: string,
  folded: readonly number[],
  keys: number,
): PartitionsChangedError | undefined {
  const other = folded.find((one) => one !== keys)
  if (other === undefined) return undefined
  const what = `the keys of ${topic} were spread over ${other} partitions, and would now be over ${keys}`
  return new PartitionsChangedError(topic, keys, other, what)
}

/** What a consumer commits with its offsets, for processes without a database. */
export function keysNote({ keys }: ExpectedPartitions): string {
  return `keys=${keys}`
}

function keysInNote(note: string): readonly number[] {
  const [, keys] = /^keys=(\d{1,6})$/.exec(note) ?? []
  return keys === undefined ? [] : [Number(keys)]
}

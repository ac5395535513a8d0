import type { ExpectedPartitions } from '../connect/log-connection.ts'
import { PartitionsChangedError, TopicMissingError } from '../errors.ts'
import type { LogAdmin } from './log-admin.ts'

/**
 * Returns the number of partitions that keys are spread over. Throws {@link PartitionsChangedError} unless the topic has the
 * expected number, and TopicMissingError if it has none.
 */
export function requirePartitions(
  topic: string,
  found: number,
  { keyPartitions, inTopic }: ExpectedPartitions,
): number {
  if (found === 0) throw new TopicMissingError([topic])
  if (found !== inTopic) throw new PartitionsChangedError(topic, found, inTopic)
  return keyPartitions
}

/**
 * Reads the count from Kafka. Throws like {@link requirePartitions} if `expected` is given, and if the notes of the consumer
 * group `foldedBy` say that the keys of folded records were spread otherwise.
 */
export async function readKeyPartitions(
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
  const keyPartitions = requirePartitions(topic, found, expected ?? { keyPartitions: found, inTopic: found })
  const notes = foldedBy === undefined ? new Map<number, string>() : await admin.groupNotes(foldedBy, topic)
  const changed = changedSinceFold(topic, [...notes.values()].flatMap(keyPartitionsInNote), keyPartitions)
  if (changed) throw changed
  return keyPartitions
}

/** Returns an error if the keys of folded records were spread over another number of partitions. */
export function changedSinceFold(
  topic: string,
  foldedKeyPartitions: readonly number[],
  keyPartitions: number,
): PartitionsChangedError | undefined {
  const former = foldedKeyPartitions.find((folded) => folded !== keyPartitions)
  if (former === undefined) return undefined
  const change = `the keys of ${topic} were spread over ${former} partitions, and would now be over ${keyPartitions}`
  return new PartitionsChangedError(topic, keyPartitions, former, change)
}

/** Returns the note that group readers commit with their offsets, for processes without a database. */
export function keyPartitionsNote({ keyPartitions }: ExpectedPartitions): string {
  return `keys=${keyPartitions}`
}

function keyPartitionsInNote(note: string): readonly number[] {
  const [, found] = /^keys=(\d{1,6})$/.exec(note) ?? []
  return found === undefined ? [] : [Number(found)]
}

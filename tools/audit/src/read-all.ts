import { readLog, type FetchedRecord, type LogConnection, type Watermarks } from '@nextvisit/log'

/** Reads `topic` from its beginning to its current end. */
export async function readAll(
  connection: LogConnection,
  topic: string,
  watermarks: ReadonlyMap<number, Watermarks>,
  onRecord: (record: FetchedRecord) => void,
): Promise<void> {
  const from = new Map([...watermarks.keys()].map((partition) => [partition, 0n]))
  await readLog(connection, { topic, from, onBatch: ({ records }) => records.forEach(onRecord), until: 'end' })
}

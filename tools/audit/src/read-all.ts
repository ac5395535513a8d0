import { readLog, type FetchedBatch, type FetchedRecord, type LogConnection, type Watermarks } from '@nextvisit/log'
import { AuditError } from './errors.ts'

/** Reads `topic` from its beginning to its current end. An undecodable batch of the log is read as one unreadable record. */
export async function readAll(
  connection: LogConnection,
  topic: string,
  watermarks: ReadonlyMap<number, Watermarks>,
  onRecord: (record: FetchedRecord) => void,
): Promise<void> {
  const from = new Map([...watermarks.keys()].map((partition) => [partition, 0n]))
  const onBatch = ({ records }: FetchedBatch): void => records.forEach(onRecord)
  await readLog(connection, { topic, from, onBatch, until: 'end', withStandIns: true })
}

/** Throws if retention has deleted records, which cannot be recomputed. */
export function requireWhole(topic: string, watermarks: ReadonlyMap<number, Watermarks>): void {
  for (const [partition, { low }] of watermarks) {
    if (low > 0n) {
      throw new AuditError(
        `${topic}/${partition} begins at ${low}, so earlier records are missing. The audit needs the whole log.`,
      )
    }
  }
}

import { type LogConnection, partitionForKey, readKeyPartitions, readLog, toError, withLogAdmin } from '@nextvisit/log'
import { CliError } from '../errors.ts'
import { exportedRecord } from '../export/record-line.ts'
import type { ShowContent } from '../shown-records/shown-content.ts'
import type { PersonWriter } from './person-writer.ts'

interface RecordsOptions {
  readonly connection: LogConnection
  readonly topic: string
  readonly userId: string
  readonly showContent: ShowContent
  readonly writer: PersonWriter
  /** Reports the read and total numbers of records, and the number of records of the person. */
  readonly onProgress: (read: number, whole: number, records: number) => void
}

/** Bytes of one fetch. Two are in memory. */
const FETCH_BYTES = 512 * 1024

/**
 * Writes every record of the person in the project that the topic contains at the start, in order, without those that an erasure
 * covers. Reads the person's partition only. A failure, or a batch that cannot be decoded, is noted.
 */
export async function writeRecords(options: RecordsOptions): Promise<void> {
  const { connection, topic, userId, showContent, writer, onProgress } = options
  try {
    const { partition, low, high } = await locate(connection, topic, userId)
    let [read, records] = [0, 0]
    await readLog(connection, {
      topic,
      from: new Map([[partition, low]]),
      until: new Map([[partition, high]]),
      onBatch: async (batch) => {
        for (const { undecodable } of batch.records) if (undecodable) writer.miss(topic, undecodable.error.message)
        const lines = batch.records
          .filter(({ key, undecodable }) => !undecodable && key?.toString() === userId)
          .flatMap((record) => exportedRecord(record, showContent) ?? [])
          .filter((named) => writer.owns(topic, named))
          .map(({ line }) => `{"type":"record",${line.slice(1)}`)
        await writer.writeText('record', lines)
        records += lines.length
        read += Number(batch.nextOffset - batch.fetchedFrom)
        onProgress(read, Number(high - low), records)
      },
      maxBytesPerPartition: FETCH_BYTES,
      withStandIns: true,
    })
  } catch (error) {
    // Standard output is closed.
    if (error instanceof CliError) throw error
    writer.miss(topic, toError(error).message)
  }
}

async function locate(connection: LogConnection, topic: string, userId: string) {
  const partition = await partitionOf(connection, topic, userId)
  return withLogAdmin(connection, async (admin) => {
    const { low, high } = (await admin.watermarks(topic)).get(partition) ?? { low: 0n, high: 0n }
    return { partition, low, high }
  })
}

/** Returns the partition of a user's records. */
export function partitionOf(connection: LogConnection, topic: string, userId: string): Promise<number> {
  return withLogAdmin(connection, async (admin) =>
    partitionForKey(userId, await readKeyPartitions(admin, { topic, expected: connection.partitions })),
  )
}

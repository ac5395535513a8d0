import type { ProjectRef } from '@nextvisit/contracts'
import { readLog, type FetchedBatch, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'
import type { ShowContent } from '../shown-records/shown-content.ts'
import { exportedRecord } from './record-line.ts'

/** Search margin after `toMs`, because gateways set timestamps by their own clocks. */
const DISORDER_MS = 3_600_000
/** Bytes of one fetch. Two decoded fetches are in memory. Larger ones are not faster, because the next is prefetched. */
const FETCH_BYTES = 256 * 1024

export interface ExportOptions {
  readonly connection: LogConnection
  readonly topic: string
  /** First timestamp, inclusive; `toMs` is exclusive. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  /** Exports only records of this project. */
  readonly project?: ProjectRef | undefined
  /** Returns what may be shown of the records of a partition. Called once for each partition, before its records. */
  readonly showPartition: (partition: number) => Promise<ShowContent>
  /** Writes several complete lines. */
  readonly write: (text: string) => Promise<void>
  /** Called for each batch of the log that cannot be decoded: its records are missing. */
  readonly onUndecodable: (error: Error) => void
  /** Reports the read and total numbers of records in the range, and the number of exported records. */
  readonly onProgress: (read: number, whole: number, records: number) => void
}

/**
 * Writes the records that the topic contained at the start, partition by partition, each in order. The same past range
 * therefore always gives the same bytes, until one of its users is erased. A batch of the log that cannot be decoded is one line,
 * whose headers describe it, but none in the export of a project. Returns the number of records.
 */
export async function exportTopic(options: ExportOptions): Promise<number> {
  const { connection, topic, write, onUndecodable, onProgress } = options
  const { starts, ends, whole } = await readRange(options)
  let read = 0
  let records = 0
  let shown: { readonly partition: number; readonly showContent: ShowContent } | undefined
  const onBatch = async (batch: FetchedBatch): Promise<void> => {
    const { partition } = batch
    if (shown?.partition !== partition) shown = { partition, showContent: await options.showPartition(partition) }
    const { showContent } = shown
    for (const { undecodable } of batch.records) if (undecodable) onUndecodable(undecodable.error)
    const lines = batch.records.flatMap((record) => lineOf(record, showContent, options) ?? [])
    if (lines.length > 0) await write(lines.join(''))
    records += lines.length
    read += Number(batch.nextOffset - batch.fetchedFrom)
    onProgress(read, whole, records)
  }
  await readLog(connection, {
    topic,
    from: starts,
    onBatch,
    until: ends,
    isOneByOne: true,
    maxBytesPerPartition: FETCH_BYTES,
    withStandIns: true,
  })
  return records
}

/** Returns the record's line, or undefined if the record is out of range or erased. */
function lineOf(
  record: FetchedRecord,
  showContent: ShowContent,
  { fromMs = -Infinity, toMs = Infinity, project }: ExportOptions,
): string | undefined {
  if (record.timestampMs < fromMs || record.timestampMs >= toMs) return undefined
  const exported = exportedRecord(record, showContent)
  if (!exported) return undefined
  const isOfProject = exported.organization === project?.organization && exported.project === project?.project
  return !project || isOfProject ? exported.line : undefined
}

interface Range {
  /** First offsets, in ascending order of partitions. */
  readonly starts: ReadonlyMap<number, bigint>
  readonly ends: ReadonlyMap<number, bigint>
  readonly whole: number
}

function readRange({ connection, topic, fromMs, toMs }: ExportOptions): Promise<Range> {
  return withLogAdmin(connection, async (admin) => {
    const marks = await admin.watermarks(topic)
    const from = fromMs === undefined ? undefined : await admin.offsetsAt(topic, fromMs)
    const to = toMs === undefined ? undefined : await admin.offsetsAt(topic, toMs + DISORDER_MS)
    const partitions = [...marks.keys()].toSorted((one, other) => one - other)
    const starts = new Map(
      partitions.map((partition) => [partition, from?.get(partition) ?? marks.get(partition)?.low ?? 0n]),
    )
    const ends = new Map(
      partitions.map((partition) => [partition, to?.get(partition) ?? marks.get(partition)?.high ?? 0n]),
    )
    const sizes = partitions.map((partition) => Number((ends.get(partition) ?? 0n) - (starts.get(partition) ?? 0n)))
    return { starts, ends, whole: sizes.reduce((sum, size) => sum + Math.max(0, size), 0) }
  })
}

import { createLogReader, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { exportedRecord } from './record-line.ts'

/** Gateways stamp records by their own clocks: so much disorder is looked for behind `toMs`. */
const DISORDER_MS = 3_600_000

export interface ExportOptions {
  readonly connection: LogConnection
  readonly topic: string
  /** Of the records' timestamps: from this instant, up to but without `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  /** Only this project's. */
  readonly project?: { readonly organization: string; readonly project: string } | undefined
  readonly write: (text: string) => Promise<void>
  /** How much of the range was read, and how many records it gave so far. */
  readonly onProgress: (read: number, whole: number, records: number) => void
}

/**
 * Writes what the topic held when this began, partition by partition, each in its order: so the same range gives the same
 * bytes again. Returns how many records that were.
 */
export async function exportTopic(options: ExportOptions): Promise<number> {
  const { connection, topic, fromMs = -Infinity, toMs = Infinity, project, write, onProgress } = options
  const { starts, ends, whole } = await readRange(options)
  const reader = createLogReader(connection)
  let read = 0
  let records = 0
  for (const [partition, start] of starts) {
    let position = start
    await reader.readFrom(
      topic,
      new Map([[partition, start]]),
      async (batch) => {
        for (const record of batch.records) {
          if (record.timestampMs < fromMs || record.timestampMs >= toMs) continue
          const exported = exportedRecord(record)
          if (project && (exported.organization !== project.organization || exported.project !== project.project))
            continue
          await write(exported.line)
          records += 1
        }
        read += Number(batch.nextOffset - position)
        position = batch.nextOffset
        onProgress(read, whole, records)
      },
      { until: ends },
    )
  }
  return records
}

interface Range {
  /** By partition, ascending. */
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

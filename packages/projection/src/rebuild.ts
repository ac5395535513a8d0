import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import {
  createLogReader,
  type FetchedBatch,
  type FetchedRecord,
  type LogConnection,
  readWatermarks,
} from '@nextvisit/log'
import { CheckpointOutsideLogError } from './errors.ts'
import { createPartitionFold, type PartitionFold } from './partition-fold.ts'
import type { Projection } from './projection.ts'

export interface RebuildOptions<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  /** Of a schema beside the live one, with the same migrations. */
  readonly db: Db
  readonly connection: LogConnection
  readonly topic: string
  /** Where to stop, by partition: the live checkpoints, say. Partitions that are not named are left out. */
  readonly until: ReadonlyMap<number, bigint>
  readonly catalog: CatalogView
  readonly serviceVersion: string
  /** See {@link createPartitionFold}. */
  readonly isHeldBack?: (record: FetchedRecord) => boolean
  /** After each commit, how far the log was passed by it. */
  readonly onProgress?: (offsets: number) => void
}

/** Nobody waits for one of these: larger batches than a live fold's cost less a record. */
const MAX_BATCH_RECORDS = 4_000
const MAX_FETCH_BYTES = 4 * 1024 * 1024

/**
 * Folds a topic from its beginning into a schema of its own, by the code that folds it live; it queues and publishes
 * nothing, and no `after` is called. One that was cut off goes on from its checkpoints when it is run again. Throws
 * {@link CheckpointOutsideLogError} where the log does not hold what was folded or is to be folded, and at the first
 * failure of Kafka, Postgres or the fold.
 */
export async function rebuildInto<Fact, Draft>(options: RebuildOptions<Fact, Draft>): Promise<void> {
  const { connection, topic, until } = options
  const folds = await openFolds(options)
  if (folds.size === 0) return

  const done = new AbortController()
  const onBatch = async (batch: FetchedBatch): Promise<void> => {
    const { partition } = batch
    const fold = folds.get(partition)
    const end = until.get(partition)
    if (!fold || end === undefined) return
    const before = fold.checkpoint().nextOffset
    while ((await fold.fold(upTo(end, batch))).outcome === 'stale');
    options.onProgress?.(Number(fold.checkpoint().nextOffset - before))
    if (fold.checkpoint().nextOffset < end) return
    folds.delete(partition)
    if (folds.size === 0) done.abort()
  }
  const from = new Map(Array.from(folds, ([partition, fold]) => [partition, fold.checkpoint().nextOffset]))
  const reader = createLogReader(connection, {
    maxBatchRecords: MAX_BATCH_RECORDS,
    maxBytesPerPartition: MAX_FETCH_BYTES,
  })
  await reader.readFrom(topic, from, onBatch, { until: 'end', signal: done.signal })
}

/** The partitions that are not folded to their ends yet. */
async function openFolds<Fact, Draft>(options: RebuildOptions<Fact, Draft>): Promise<Map<number, PartitionFold>> {
  const { onProgress: _, until, connection, ...place } = options
  const { projection, topic } = place
  const watermarks = await readWatermarks(connection, topic)
  const folds = new Map<number, PartitionFold>()
  for (const [partition, end] of until) {
    const fold = createPartitionFold({ ...place, partition, isRebuild: true })
    const log = watermarks.get(partition) ?? { low: 0n, high: 0n }
    const { nextOffset } = await fold.open(log.low)
    const missing = [nextOffset, end].find((offset) => offset < log.low || offset > log.high)
    if (missing !== undefined) {
      throw new CheckpointOutsideLogError({ projection: projection.name, topic, partition }, missing, log)
    }
    if (nextOffset < end) folds.set(partition, fold)
  }
  return folds
}

function upTo(end: bigint, batch: FetchedBatch): FetchedBatch {
  if (batch.nextOffset <= end) return batch
  return { ...batch, nextOffset: end, records: batch.records.filter(({ offset }) => offset < end) }
}

import type { CommitDb } from '@nextvisit/database'
import { type FetchedBatch, type LogConnection, readLog, readWatermarks } from '@nextvisit/log'
import type { FoldParts } from '../fold/fold-parts.ts'
import type { PartitionBatch } from '../fold/partition-batch.ts'
import { fetchOffsetOf, outsideLog } from '../fold/batch-in-log.ts'
import { createPartitionFold, type PartitionFold } from '../partition/partition-fold.ts'
import type { AnyFact } from '../core/projection.ts'

/** `db` is connected to another schema than the live one, with the same migrations. */
interface RebuildParts<Fact extends AnyFact, Draft>
  extends Pick<FoldParts<Fact, Draft>, 'projection' | 'db' | 'catalog' | 'serviceVersion' | 'userKeys'>,
    Pick<PartitionBatch, 'deadBecause'> {
  readonly connection: LogConnection
  readonly topic: string
  /** The end for each partition: for example the live checkpoints. Other partitions are not read. */
  readonly until: ReadonlyMap<number, bigint>
  /** Called after each batch with the number of offsets that it passed. */
  readonly onProgress?: (offsets: number) => void
}

/** Larger than the batches of a live fold: no caller waits for them, and they cost less per record. */
const MAX_BATCH_RECORDS = 2_000
const MAX_FETCH_BYTES = 1024 * 1024
/** While Postgres commits a batch of one lane, the next lane loads, and the third one fetches and decodes. */
const LANES = 3

/**
 * Folds a topic from its beginning into a schema of its own, with the code of the live fold. Queues and publishes nothing,
 * and skips `afterCommit`. Folds several partitions at once, as several live owners do. An interrupted rebuild continues
 * from its checkpoints. Throws `CheckpointOutsideLogError` if the log does not hold records that were folded or are to be
 * folded, and at the first failure of Kafka, Postgres or the fold. An undecodable batch is such a failure, unless
 * `deadBecause` has a reason for it.
 */
export async function rebuildInto<Fact extends AnyFact, Draft>(options: RebuildParts<Fact, Draft>): Promise<void> {
  const folds = await openFolds({ ...options, db: committingInTurn(options.db) })
  const failure = new AbortController()
  const lanes = lanesOf(folds).map(async (lane) => {
    try {
      await foldLane(options, lane, failure.signal)
    } catch (error) {
      failure.abort(error)
    }
  })
  await Promise.all(lanes)
  failure.signal.throwIfAborted()
}

interface Fold extends PartitionFold {
  readonly begin: bigint
  readonly end: bigint
}

/** Folds the batches of a lane's partitions one after the other. */
async function foldLane(
  { connection, topic, onProgress }: Pick<RebuildParts<never, never>, 'connection' | 'topic' | 'onProgress'>,
  lane: readonly Fold[],
  signal: AbortSignal,
): Promise<void> {
  const folds = new Map(lane.map((fold) => [fold.key.partition, fold]))
  async function onBatch(batch: FetchedBatch): Promise<void> {
    const fold = folds.get(batch.partition)
    if (!fold) return
    const before = fold.checkpoint().nextOffset
    do await fold.fold(batch)
    while (fold.checkpoint().nextOffset < batch.nextOffset)
    onProgress?.(Number(fold.checkpoint().nextOffset - before))
  }
  const from = new Map(lane.map(({ key, begin }) => [key.partition, begin]))
  const until = new Map(lane.map(({ key, end }) => [key.partition, end]))
  await readLog(connection, {
    topic,
    from,
    onBatch,
    until,
    signal,
    maxBatchRecords: MAX_BATCH_RECORDS,
    maxBytesPerPartition: MAX_FETCH_BYTES,
    withStandIns: true,
  })
}

/** Distributes partitions over lanes of about the same length. */
function lanesOf(folds: readonly Fold[]): readonly (readonly Fold[])[] {
  const remaining = ({ end, checkpoint }: Fold): number => Number(end - checkpoint().nextOffset)
  const longestFirst = folds.toSorted((one, other) => remaining(other) - remaining(one))
  const lanes = Array.from({ length: LANES }, (_, lane) => longestFirst.filter((_fold, at) => at % LANES === lane))
  return lanes.filter(({ length }) => length > 0)
}

/**
 * Makes commits wait for each other instead of for rows that partitions share, such as a project's new names. One Postgres
 * process writes as fast as this process reads.
 */
function committingInTurn(db: CommitDb): CommitDb {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...db,
    executeAll: (statements) => {
      const own = last.then(() => db.executeAll(statements))
      last = own.catch(() => {})
      return own
    },
  }
}

/** Opens the folds of the partitions that are not folded to their ends. */
async function openFolds<Fact extends AnyFact, Draft>(options: RebuildParts<Fact, Draft>): Promise<Fold[]> {
  const { onProgress: _, until, connection, ...own } = options
  const watermarks = await readWatermarks(connection, own.topic)
  const folds: Fold[] = []
  for (const [partition, end] of until) {
    const fold = createPartitionFold({ ...own, partition, mode: 'rebuild' })
    const log = watermarks.get(partition) ?? { low: 0n, high: 0n }
    const { nextOffset } = await fold.open()
    const outside = outsideLog(fold.key, nextOffset, log) ?? outsideLog(fold.key, end, log)
    if (outside) throw outside
    if (nextOffset < end) folds.push({ ...fold, begin: fetchOffsetOf(nextOffset, log), end })
  }
  return folds
}

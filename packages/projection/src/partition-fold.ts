import type { CatalogView } from '@nextvisit/catalog'
import type { Db, Statement } from '@nextvisit/database'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import {
  type Checkpoint,
  type CheckpointKey,
  createCheckpoints,
  fence,
  isStale,
  readCheckpoint,
} from './checkpoints.ts'
import { insertDeadLetters, readRetries, settleRetries } from './dead-letters.ts'
import { CheckpointOfAnotherLogError, FoldFailedError, GapError, mayPass } from './errors.ts'
import { executeAll } from './execute-all.ts'
import { dropCopies, forgetKeyedRecords, insertKeyedRecords } from './keyed-records.ts'
import { type ParsedRecords, parseRecords } from './parse-records.ts'
import type { FoldContext, Projection, Recorded } from './projection.ts'
import { recordTimeOf } from './record-time.ts'

export interface PartitionFoldOptions<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  readonly serviceVersion: string
  readonly isRebuild?: boolean
  /** Records that become dead letters whether or not they can be parsed: in a rebuild, those that the live one has. */
  readonly isHeldBack?: (record: FetchedRecord) => boolean
  /** Told of each record that is in the read model now. */
  readonly onFolded?: (record: Recorded<Fact>) => void
  /** An `after`, or an `onCopies`, that failed. What it does may be lost. */
  readonly onAfterFailed?: (error: unknown) => void
}

/**
 * What became of a batch. `stale`: somebody else has moved the checkpoint; nothing was written, and the checkpoint was
 * read again, so that the next try goes on from where it stands.
 */
export type FoldResult =
  | { readonly outcome: 'folded'; readonly records: number; readonly deadLetters: number; readonly copies: number }
  | Stale

export interface Stale {
  readonly outcome: 'stale'
  /** A replay has swapped the read models; else another owner was faster. */
  readonly isSwapped?: true
}

const NOTHING_FOLDED = { outcome: 'folded', records: 0, deadLetters: 0, copies: 0 } as const

const STALE: Stale = { outcome: 'stale' }
const SWAPPED: Stale = { outcome: 'stale', isSwapped: true }

/** One partition's fold: the only place that writes a read model and moves its checkpoint. Not for concurrent use. */
export interface PartitionFold {
  /** Reads the checkpoint; makes it at `low`, where the log begins, if this partition was never seen. */
  readonly open: (low: bigint) => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Folds and commits what the batch holds beyond the checkpoint. Throws {@link GapError},
   * {@link CheckpointOfAnotherLogError} where the batch holds the record before the checkpoint and it is another,
   * {@link FoldFailedError}, and what the database throws while it is away or busy. A failed commit may have happened all
   * the same: trying again finds out, at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<FoldResult>
  /** What time alone does, as of `instant`, and dead letters that an operator wants tried again. */
  readonly tick: (instant: Date) => Promise<FoldResult>
  /** Those dead letters alone, as many as go into one commit. */
  readonly retry: () => Promise<FoldResult>
}

export function createPartitionFold<Fact, Draft>(options: PartitionFoldOptions<Fact, Draft>): PartitionFold {
  const {
    projection,
    db,
    topic,
    partition,
    catalog,
    serviceVersion,
    isRebuild = false,
    onFolded,
    onAfterFailed,
    isHeldBack,
  } = options
  const key: CheckpointKey = { projection: projection.name, topic, partition }
  const context: FoldContext = { catalog, partition, isRebuild }
  const lateContext: FoldContext = { ...context, isRebuild: true }
  let position: Checkpoint | undefined

  const checkpoint = (): Checkpoint => {
    if (!position) throw new Error(`${key.projection} has no checkpoint of ${topic}/${partition}`)
    return position
  }

  const open: PartitionFold['open'] = async (low) => {
    const found = await readCheckpoint(db, key)
    if (!found) await createCheckpoints(db, key, new Map([[partition, low]]))
    position = found ?? (await readCheckpoint(db, key))
    return checkpoint()
  }

  /** The one transaction: the fence, then everything else. Returns what it failed at there. */
  const commit = async (
    nextOffset: bigint,
    recordTime: string | undefined,
    statements: readonly Statement[],
  ): Promise<Stale | undefined> => {
    const read = checkpoint()
    try {
      await executeAll(db, [fence(key, read, nextOffset, recordTime), ...statements])
    } catch (error) {
      if (!isStale(error)) throw error
      position = await readCheckpoint(db, key)
      return position && position.table !== read.table ? SWAPPED : STALE
    }
    position = { ...read, nextOffset, version: read.version + 1n, recordTime: recordTime ?? read.recordTime }
    return undefined
  }

  /** The rows that these records come to: load → evolve* → save. */
  const foldRecords = async ({ recorded }: ParsedRecords<Fact>, foldContext: FoldContext) => {
    const { records, copies, seen } = await dropCopies(db, projection.keyed, recorded)
    const loaded =
      records.length > 0 && projection.load ? await projection.load(db, records, foldContext) : projection.empty()
    const draft = records.reduce((so, record) => projection.evolve(so, record, foldContext), loaded)
    const rows = records.length > 0 ? projection.save(draft) : []
    const ledger = seen.length > 0 ? [insertKeyedRecords(partition, seen), ...forgetKeyedRecords(partition, seen)] : []
    return {
      draft,
      records: records.length,
      copies,
      statements: [...ledger, ...rows],
    }
  }

  const runAfter = async (work: () => Promise<void> | undefined): Promise<void> => {
    if (isRebuild) return
    try {
      await work()
    } catch (error) {
      onAfterFailed?.(error)
    }
  }

  const foldBatch = async (batch: FetchedBatch): Promise<FoldResult> => {
    const { nextOffset } = checkpoint()
    const parsed = parseRecords(
      projection.schema,
      batch.records.filter(({ offset }) => offset >= nextOffset),
      isHeldBack,
    )
    const { draft, records, copies, statements } = await foldRecords(parsed, context)
    const { deadLetters } = parsed
    const letters = deadLetters.length > 0 ? [insertDeadLetters(key.projection, serviceVersion, deadLetters)] : []
    const last = batch.records.at(-1)
    const stale = await commit(batch.nextOffset, last && recordTimeOf(last), [...letters, ...statements])
    if (stale) return stale
    if (onFolded) parsed.recorded.forEach(onFolded)
    if (records > 0) await runAfter(() => projection.after?.(draft))
    if (copies.length > 0) await runAfter(() => projection.onCopies?.(db, copies))
    return { outcome: 'folded', records, deadLetters: deadLetters.length, copies: copies.length }
  }

  /** Dead letters that an operator wants tried again are folded late: into this service alone, and nothing is queued. */
  const foldLate = async (retries: readonly FetchedRecord[]): Promise<FoldResult> => {
    const parsed = parseRecords(projection.schema, retries)
    const { records, copies, statements } = await foldRecords(parsed, lateContext)
    const dead = new Set(parsed.deadLetters.map(({ record }) => record))
    const passed = retries.filter((record) => !dead.has(record))
    const settled = settleRetries(key, serviceVersion, passed, parsed.deadLetters)
    const stale = await commit(checkpoint().nextOffset, undefined, [settled, ...statements])
    return stale ?? { outcome: 'folded', records, deadLetters: dead.size, copies: copies.length }
  }

  /** A bug stops the partition, but a letter that was passed long ago must not: it is found alone, and is dead again. */
  const retry = async (retries: readonly FetchedRecord[]): Promise<FoldResult> => {
    const [first, ...others] = retries
    if (!first) return NOTHING_FOLDED
    try {
      return await orBug(foldLate(retries))
    } catch (error) {
      if (!(error instanceof FoldFailedError)) throw error
      if (others.length > 0) return retry([first])
      const reason = `folding it failed: ${String(error.cause)}`.replaceAll('\u0000', '').toWellFormed()
      const settled = settleRetries(key, serviceVersion, [], [{ record: first, reason }])
      const stale = await commit(checkpoint().nextOffset, undefined, [settled])
      return stale ?? { ...NOTHING_FOLDED, deadLetters: 1 }
    }
  }

  const retryMarked = async (): Promise<FoldResult> => retry(await readRetries(db, key))

  const runTick = async (instant: Date): Promise<FoldResult> => {
    const late = await retryMarked()
    if (late.outcome === 'stale') return late
    const statements = (await projection.tick?.(db, instant, context)) ?? []
    if (statements.length === 0) return late
    return (await commit(checkpoint().nextOffset, undefined, statements)) ?? late
  }

  /** Its time is what is kept of the last record passed. Where an offset holds no record, there is nothing to compare. */
  const requireSameLog = ({ records }: FetchedBatch): void => {
    const { nextOffset, recordTime } = checkpoint()
    const last = records.find(({ offset }) => offset === nextOffset - 1n)
    if (!last || recordTime === undefined || recordTimeOf(last) === recordTime) return
    throw new CheckpointOfAnotherLogError(key, nextOffset, { folded: recordTime, found: recordTimeOf(last) })
  }

  /** What trying again can't mend is a bug, and says where. */
  const orBug = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof FoldFailedError || mayPass(error)) throw error
      throw new FoldFailedError(key, checkpoint().nextOffset, error)
    }
  }

  return {
    open,
    checkpoint,
    fold: async (batch) => {
      const { nextOffset } = checkpoint()
      if (batch.fetchedFrom > nextOffset) throw new GapError(key, nextOffset, batch.fetchedFrom)
      requireSameLog(batch)
      return batch.nextOffset <= nextOffset ? NOTHING_FOLDED : orBug(foldBatch(batch))
    },
    tick: (instant) => orBug(runTick(instant)),
    retry: () => orBug(retryMarked()),
  }
}

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
import { FoldFailedError, GapError } from './errors.ts'
import { dropCopies, forgetKeyedRecords, insertKeyedRecords } from './keyed-records.ts'
import { type ParsedRecords, parseRecords } from './parse-records.ts'
import type { FoldContext, Projection } from './projection.ts'

export interface PartitionFoldOptions<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  readonly serviceVersion: string
  readonly isRebuild?: boolean
  /** An `after` that failed. What it does may be lost. */
  readonly onAfterFailed?: (error: unknown) => void
}

/**
 * What became of a batch. `stale`: somebody else has moved the checkpoint; nothing was written, and the checkpoint was
 * read again, so that the next try goes on from where it stands.
 */
export type FoldResult =
  | { readonly outcome: 'folded'; readonly records: number; readonly deadLetters: number; readonly copies: number }
  | { readonly outcome: 'stale' }

/** One partition's fold: the only place that writes a read model and moves its checkpoint. Not for concurrent use. */
export interface PartitionFold {
  /** Reads the checkpoint; makes it at `low`, where the log begins, if this partition was never seen. */
  readonly open: (low: bigint) => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Folds and commits what the batch holds beyond the checkpoint. Throws {@link GapError}, {@link FoldFailedError}, and
   * what the database throws. A failed commit may have happened all the same: trying again finds out, at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<FoldResult>
  /** What time alone does, as of `instant`, and dead letters that an operator wants tried again. */
  readonly tick: (instant: Date) => Promise<FoldResult>
}

/** What came of dead letters that were tried again. */
interface LateFold {
  readonly records: number
  readonly copies: number
  readonly deadLetters: number
  readonly statements: readonly Statement[]
}
const NOTHING_LATE: LateFold = { records: 0, copies: 0, deadLetters: 0, statements: [] }

export function createPartitionFold<Fact, Draft>(options: PartitionFoldOptions<Fact, Draft>): PartitionFold {
  const { projection, db, topic, partition, catalog, serviceVersion, isRebuild = false, onAfterFailed } = options
  const key: CheckpointKey = { projection: projection.name, topic, partition }
  const context: FoldContext = { catalog, partition, isRebuild }
  const lateContext: FoldContext = { ...context, isRebuild: true }
  let position: Checkpoint | undefined

  const checkpoint = (): Checkpoint => {
    if (!position) throw new Error(`${key.projection} on ${topic}/${partition} was not opened`)
    return position
  }

  const open: PartitionFold['open'] = async (low) => {
    const found = await readCheckpoint(db, key)
    if (!found) await createCheckpoints(db, key, new Map([[partition, low]]))
    position = found ?? (await readCheckpoint(db, key))
    return checkpoint()
  }

  /** The one transaction: the fence, then everything else. */
  const commit = async (
    nextOffset: bigint,
    recordTime: Date | undefined,
    statements: readonly Statement[],
  ): Promise<boolean> => {
    const read = checkpoint()
    try {
      await db.$transaction(
        [fence(key, read, nextOffset, recordTime), ...statements].map((statement) => db.$executeRaw(statement)),
      )
    } catch (error) {
      if (!isStale(error)) throw error
      await open(read.nextOffset)
      return false
    }
    position = { nextOffset, version: read.version + 1n }
    return true
  }

  /** The rows that these records come to: load → evolve* → save. */
  const foldRecords = async ({ recorded }: ParsedRecords<Fact>, foldContext: FoldContext) => {
    const { records, seen } = await dropCopies(db, projection.keyed, recorded)
    const loaded = records.length > 0 && projection.load ? await projection.load(db, records) : projection.empty()
    try {
      const draft = records.reduce((so, record) => projection.evolve(so, record, foldContext), loaded)
      const rows = records.length > 0 ? projection.save(draft) : []
      const ledger = seen.length > 0 ? [insertKeyedRecords(partition, seen), forgetKeyedRecords(partition, seen)] : []
      return {
        draft,
        folded: records.length,
        copies: recorded.length - records.length,
        statements: [...ledger, ...rows],
      }
    } catch (error) {
      throw new FoldFailedError(key, recorded[0]?.offset ?? 0n, error)
    }
  }

  const runAfter = async (draft: Draft): Promise<void> => {
    if (isRebuild || !projection.after) return
    try {
      await projection.after(draft)
    } catch (error) {
      onAfterFailed?.(error)
    }
  }

  const fold: PartitionFold['fold'] = async (batch) => {
    const { nextOffset } = checkpoint()
    if (batch.fetchedFrom > nextOffset) throw new GapError(key, nextOffset, batch.fetchedFrom)
    if (batch.nextOffset <= nextOffset) return { outcome: 'folded', records: 0, deadLetters: 0, copies: 0 }
    const parsed = parseRecords(
      projection.schema,
      batch.records.filter(({ offset }) => offset >= nextOffset),
    )
    const { draft, folded, copies, statements } = await foldRecords(parsed, context)
    const { deadLetters } = parsed
    const letters = deadLetters.length > 0 ? [insertDeadLetters(key.projection, serviceVersion, deadLetters)] : []
    const lastTimestampMs = batch.records.at(-1)?.timestampMs
    const recordTime = lastTimestampMs === undefined ? undefined : new Date(lastTimestampMs)
    if (!(await commit(batch.nextOffset, recordTime, [...letters, ...statements]))) return { outcome: 'stale' }
    if (folded > 0) await runAfter(draft)
    return { outcome: 'folded', records: folded, deadLetters: deadLetters.length, copies }
  }

  /** Dead letters that an operator wants tried again are folded late: into this service alone, and nothing is queued. */
  const foldRetries = async (retries: readonly FetchedRecord[]): Promise<LateFold> => {
    const parsed = parseRecords(projection.schema, retries)
    try {
      const { folded, copies, statements } = await foldRecords(parsed, lateContext)
      const dead = new Set(parsed.deadLetters.map(({ record }) => record))
      const passed = retries.filter((record) => !dead.has(record))
      const settled = settleRetries(key, serviceVersion, passed, parsed.deadLetters)
      return { records: folded, copies, deadLetters: dead.size, statements: [settled, ...statements] }
    } catch (error) {
      if (!(error instanceof FoldFailedError)) throw error
      return giveUpRetry(retries, error)
    }
  }

  /** A bug stops the partition, but a letter that was passed long ago must not: it is found alone, and is dead again. */
  const giveUpRetry = async (retries: readonly FetchedRecord[], { cause }: FoldFailedError): Promise<LateFold> => {
    const [record, ...others] = retries
    if (!record) return NOTHING_LATE
    if (others.length > 0) return foldRetries([record])
    const reason = `folding it failed: ${String(cause)}`.replaceAll('\u0000', '').toWellFormed()
    const statements = [settleRetries(key, serviceVersion, [], [{ record, reason }])]
    return { records: 0, copies: 0, deadLetters: 1, statements }
  }

  /** Two commits: what a tick writes follows from the rows as the late fold left them. */
  const tick: PartitionFold['tick'] = async (instant) => {
    const retries = await readRetries(db, key)
    const { statements, ...late } = retries.length > 0 ? await foldRetries(retries) : NOTHING_LATE
    if (!(await commitInPlace(statements))) return { outcome: 'stale' }
    const timely = projection.tick ? await projection.tick(db, instant, context) : []
    return (await commitInPlace(timely)) ? { outcome: 'folded', ...late } : { outcome: 'stale' }
  }

  const commitInPlace = async (statements: readonly Statement[]): Promise<boolean> =>
    statements.length === 0 || commit(checkpoint().nextOffset, undefined, statements)

  return { open, checkpoint, fold, tick }
}

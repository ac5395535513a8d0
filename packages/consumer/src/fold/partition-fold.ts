import type { CatalogView } from '@nextvisit/catalog'
import { plainCodec, type RecordCodec } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { foldRetries } from './fold-retries.ts'
import { orFoldFailed } from '../errors.ts'
import type { AnyFact, FoldMode, Projection } from '../projection.ts'
import { runTick } from './run-tick.ts'
import { bisect } from './bisect.ts'
import { type Checkpoint, createPartitionCheckpoint } from './checkpoint.ts'
import { commitBatches } from './commit-batches.ts'
import type { Core } from './core.ts'
import { type Folded, NOTHING_FOLDED, type Stale } from './outcome.ts'
import { type PartitionBatch, unfoldedPartOf } from './partition-batch.ts'

interface PartitionFoldOptions<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  readonly serviceVersion: string
  /** Default: `plainCodec`. */
  readonly codec?: RecordCodec
  /** Default: `live`. */
  readonly mode?: FoldMode
  /** Selects records that become dead letters although they can be decoded: in a rebuild, the live dead letters. */
  readonly isHeldBack?: ((record: FetchedRecord) => boolean) | undefined
}

/** The fold of one partition without a commit loop: for rebuilds and specs. Not for concurrent use. */
export interface PartitionFold {
  /** Reads the checkpoint. Creates it at offset 0 if this partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Folds and commits the records of the batch beyond the checkpoint; only its beginning if a later record fails: the
   * checkpoint shows it, and the next call fails with that record. Throws `GapError`, `CheckpointOfAnotherLogError`,
   * `FoldFailedError`, and the database's error while that is unavailable or busy. A commit that failed may have happened:
   * the next attempt finds out at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<Folded | Stale>
  /** Makes the record at `offset` a dead letter from now on, for this reason. */
  readonly setAside: (offset: bigint, reason: string) => void
  readonly tick: (instant: Date) => Promise<Folded | Stale>
  /** Only retries dead letters, as many as go into one commit. */
  readonly retry: () => Promise<Folded | Stale>
}

export function createPartitionFold<Fact extends AnyFact, Draft>(
  options: PartitionFoldOptions<Fact, Draft>,
): PartitionFold {
  const { projection, db, topic, partition, catalog, serviceVersion, codec = plainCodec } = options
  const { mode = 'live', isHeldBack } = options
  const logger = createLogger('fold', 'silent')
  const core: Core<Fact, Draft> = { projection, db, codec, context: { catalog, mode }, serviceVersion, logger }
  const checkpoint = createPartitionCheckpoint(db, { projection: projection.name, topic, partition })
  const setAside = new Map<bigint, string>()
  const deadBecause = (record: FetchedRecord): string | undefined =>
    isHeldBack?.(record) ? 'a dead letter of the live read models' : setAside.get(record.offset)

  return {
    open: checkpoint.open,
    checkpoint: checkpoint.current,
    fold: async (batch) => {
      const rest = unfoldedPartOf(checkpoint, batch, isHeldBack || setAside.size > 0 ? deadBecause : undefined)
      return rest ? foldBatch(core, rest) : NOTHING_FOLDED
    },
    setAside: (offset, reason) => void setAside.set(offset, reason),
    tick: (instant) => runTick(core, checkpoint, instant),
    retry: async () => orFoldFailed(checkpoint.key, checkpoint.current().nextOffset, foldRetries(core, checkpoint)),
  }
}

async function foldBatch<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  batch: PartitionBatch,
): Promise<Folded | Stale> {
  const outcomes = await bisect([batch], (batches) => commitBatches(core, batches))
  const outcome = outcomes.get(batch)
  if (!outcome) throw new Error('A batch has no outcome')
  if (outcome.outcome === 'failed') throw outcome.error
  const { after, ...result } = outcome
  await after
  return result
}

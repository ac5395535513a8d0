import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { orFoldFailed } from '../core/errors.ts'
import type { AnyFact } from '../core/projection.ts'
import type { CheckpointKey } from '../core/tables.ts'
import { type Checkpoint, createPartitionCheckpoint } from './checkpoint.ts'
import { foldBatches } from './fold-batches.ts'
import type { FoldParts } from './fold-parts.ts'
import { foldRetries } from './fold-retries.ts'
import { type Folded, NOTHING_FOLDED, outcomeOf, type Stale } from './outcome.ts'
import { type PartitionBatch, unfoldedPartOf } from './partition-batch.ts'
import { runTick } from './run-tick.ts'

interface PartitionFoldOptions<Fact extends AnyFact, Draft> extends FoldParts<Fact, Draft> {
  readonly topic: string
  readonly partition: number
  /** The number of partitions that keys are spread over, if known. Stored with a new checkpoint. */
  readonly keyPartitions?: number | undefined
  /** Selects records that become dead letters although they can be decoded: in a rebuild, the live dead letters. */
  readonly isHeldBack?: ((record: FetchedRecord) => boolean) | undefined
}

/** The fold of one partition, one step at a time: batches, retries of dead letters, ticks. Each step commits under the fence. */
export interface PartitionFold {
  readonly key: CheckpointKey
  /** Reads the checkpoint. Creates it at offset 0 if this partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Returns the part of the batch that is to be folded, for {@link foldBatches}; undefined if there is none. Throws `GapError`
   * and `CheckpointOfAnotherLogError`.
   */
  readonly unfoldedPart: (batch: FetchedBatch) => PartitionBatch | undefined
  /**
   * Folds and commits the unfolded part of the batch; only its beginning if a later record fails: the checkpoint shows it,
   * and the next call fails with that record. Also throws `FoldFailedError`, and the database's error while that is
   * unavailable or busy. A commit that failed may have happened: the next attempt finds out at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<Folded | Stale>
  /** Makes the record at `offset` a dead letter from now on, for this reason. */
  readonly setAside: (offset: bigint, reason: string) => void
  /** Retries dead letters, then makes the changes that time alone makes. */
  readonly tick: (instant: Date) => Promise<Folded | Stale>
  /** Only retries dead letters, as many as go into one commit. */
  readonly retry: () => Promise<Folded | Stale>
}

export function createPartitionFold<Fact extends AnyFact, Draft>(
  options: PartitionFoldOptions<Fact, Draft>,
): PartitionFold {
  const { topic, partition, keyPartitions, isHeldBack, ...parts } = options
  const key = { projection: parts.projection.name, topic, partition }
  const checkpoint = createPartitionCheckpoint(parts.db, key, keyPartitions)
  const setAside = new Map<bigint, string>()
  const deadBecause = (record: FetchedRecord): string | undefined =>
    isHeldBack?.(record) ? 'a dead letter of the live read models' : setAside.get(record.offset)
  const unfoldedPart = (batch: FetchedBatch): PartitionBatch | undefined =>
    unfoldedPartOf(checkpoint, batch, isHeldBack || setAside.size > 0 ? deadBecause : undefined)

  return {
    key,
    open: checkpoint.open,
    checkpoint: checkpoint.current,
    unfoldedPart,
    fold: async (batch) => {
      const rest = unfoldedPart(batch)
      if (!rest) return NOTHING_FOLDED
      const outcome = outcomeOf(await foldBatches(parts, [rest]), rest)
      if (outcome.outcome === 'failed') throw outcome.error
      const { after, ...result } = outcome
      await after
      return result
    },
    setAside: (offset, reason) => void setAside.set(offset, reason),
    tick: (instant) => runTick(parts, checkpoint, instant),
    retry: async () => orFoldFailed(key, checkpoint.current().nextOffset, foldRetries(parts, checkpoint)),
  }
}

import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { orFoldFailed } from '../core/errors.ts'
import { unfoldedPartOf } from '../fold/batch-in-log.ts'
import { createPartitionCheckpoint, type PartitionCheckpoint } from '../fold/checkpoint.ts'
import { commit } from '../fold/commit.ts'
import { foldBatches } from '../fold/fold-batches.ts'
import { contextOf, type FoldParts } from '../fold/fold-parts.ts'
import { foldRetries } from '../fold/fold-retries.ts'
import {
  finishOutcome,
  type Folded,
  NOTHING_FOLDED,
  outcomeOf,
  type PartitionBatch,
  type Stale,
} from '../fold/partition-batch.ts'
import { readPast } from '../fold/read-past.ts'
import { insertOutbox } from '../outbox/outbox.ts'
import type { AnyFact } from '../core/projection.ts'

interface PartitionFoldOptions<Fact extends AnyFact, Draft>
  extends FoldParts<Fact, Draft>,
    Pick<PartitionBatch, 'deadBecause'> {
  readonly topic: string
  readonly partition: number
  /** The number of partitions that keys are spread over, if known. Stored with a new checkpoint. */
  readonly keyPartitions?: number | undefined
}

/** The fold of one partition, one step at a time: batches, retries of dead letters, ticks. Each step commits under the fence. */
export interface PartitionFold extends Pick<PartitionCheckpoint, 'key' | 'open'> {
  /** Returns the checkpoint. Throws if it was not opened, or if its row was deleted. */
  readonly checkpoint: PartitionCheckpoint['current']
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
  /**
   * Makes the record at `offset` a dead letter from now on, for this reason. `isBatch`: only while its batch is
   * undecodable, not if the batch turns out to be readable.
   */
  readonly makeDeadLetter: (offset: bigint, reason: string, of: { readonly isBatch: boolean }) => void
  /** Retries dead letters that an operator wants retried, as many as go into one commit. Throws like `tick`. */
  readonly retry: () => Promise<Folded | Stale>
  /**
   * Commits the changes that time alone makes to the partition's rows, as of `instant`. Throws `FoldFailedError` for a bug,
   * and the database's error while that is unavailable or busy.
   */
  readonly tick: (instant: Date) => Promise<Folded | Stale>
}

export function createPartitionFold<Fact extends AnyFact, Draft>(
  options: PartitionFoldOptions<Fact, Draft>,
): PartitionFold {
  const { topic, partition, keyPartitions, deadBecause, ...parts } = options
  const key = { projection: parts.projection.name, topic, partition }
  const checkpoint = createPartitionCheckpoint(parts.db, key, keyPartitions)
  const reasons = new Map<bigint, { readonly reason: string; readonly isBatch: boolean }>()
  const setAsideBecause = ({ offset, undecodable }: FetchedRecord): string | undefined => {
    const setAside = reasons.get(offset)
    return setAside?.isBatch && !undecodable ? undefined : setAside?.reason
  }
  const unfoldedPart = (batch: FetchedBatch): PartitionBatch | undefined =>
    unfoldedPartOf(checkpoint, batch, (record) => deadBecause?.(record) ?? setAsideBecause(record))

  return {
    key,
    open: checkpoint.open,
    checkpoint: checkpoint.current,
    unfoldedPart,
    fold: async (batch) => {
      const rest = unfoldedPart(batch)
      if (!rest) return NOTHING_FOLDED
      return finishOutcome(outcomeOf(await foldBatches(parts, [rest]), rest))
    },
    makeDeadLetter: (offset, reason, { isBatch }) => void reasons.set(offset, { reason, isBatch }),
    retry: async () => orFoldFailed(key, checkpoint.current().nextOffset, foldRetries(parts, checkpoint)),
    tick: async (instant) => orFoldFailed(key, checkpoint.current().nextOffset, commitTick(parts, checkpoint, instant)),
  }
}

async function commitTick<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  instant: Date,
): Promise<Folded | Stale> {
  const { projection, db } = parts
  const { partition } = checkpoint.key
  const { nextOffset } = checkpoint.current()
  const context = { ...contextOf(parts), partition, nextOffset, ...readPast(parts, checkpoint) }
  const writes = await projection.ticks?.tick(db, instant, context)
  if (!writes) return NOTHING_FOLDED
  const statements = [...writes.statements, ...insertOutbox(writes.outbox ?? [])]
  if (statements.length === 0) return NOTHING_FOLDED
  const stale = (await commit(db, [{ checkpoint }], statements)).get(checkpoint)
  if (stale) return stale
  writes.afterCommit?.()
  return NOTHING_FOLDED
}

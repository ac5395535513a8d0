import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import type { FetchedBatch } from '@nextvisit/log'
import type { Checkpoint, CheckpointKey } from './checkpoints.ts'
import { GapError, orFoldFailed } from './errors.ts'
import { type FoldBatchOptions, foldBatch } from './fold-batch.ts'
import type { FoldScope } from './fold-records.ts'
import { type FoldResult, NOTHING_FOLDED } from './fold-result.ts'
import { requireSameLog } from './log-identity.ts'
import { createPosition } from './position.ts'
import type { Projection } from './projection.ts'
import { retryDeadLetters } from './retry-dead-letters.ts'

export interface PartitionFoldOptions<Fact, Draft> extends FoldBatchOptions<Fact> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  /** Goes into dead letters. */
  readonly serviceVersion: string
  readonly isRebuild?: boolean
}

/** One partition's fold: the only place that writes a read model and moves its checkpoint. Not for concurrent use. */
export interface PartitionFold {
  /** Reads the checkpoint. Creates it at `low`, where the log begins, if this partition was never seen. */
  readonly open: (low: bigint) => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Folds and commits what the batch holds beyond the checkpoint. Throws {@link GapError},
   * {@link CheckpointOfAnotherLogError}, {@link FoldFailedError}, and what the database throws while it is unavailable or
   * busy. A commit that failed may have happened all the same: the next attempt finds out at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<FoldResult>
  /** Retries dead letters that an operator wants retried, then does what time alone does, as of `instant`. */
  readonly tick: (instant: Date) => Promise<FoldResult>
  /** Only the retry of dead letters, as many as go into one commit. */
  readonly retry: () => Promise<FoldResult>
}

export function createPartitionFold<Fact, Draft>(options: PartitionFoldOptions<Fact, Draft>): PartitionFold {
  const { projection, db, topic, partition, catalog, isRebuild = false } = options
  const key: CheckpointKey = { projection: projection.name, topic, partition }
  const position = createPosition(db, key)
  const scope = { ...options, position, context: { catalog, partition, isRebuild } }
  const { open, checkpoint } = position

  return {
    open,
    checkpoint,
    fold: async (batch) => {
      const { nextOffset } = checkpoint()
      if (batch.fetchedFrom > nextOffset) throw new GapError(key, nextOffset, batch.fetchedFrom)
      requireSameLog(key, checkpoint(), batch)
      if (batch.nextOffset <= nextOffset) return NOTHING_FOLDED
      return orFoldFailed(key, nextOffset, foldBatch(scope, batch))
    },
    tick: async (instant) => orFoldFailed(key, checkpoint().nextOffset, runTick(scope, instant)),
    retry: async () => orFoldFailed(key, checkpoint().nextOffset, retryDeadLetters(scope)),
  }
}

async function runTick<Fact, Draft>(scope: FoldScope<Fact, Draft>, instant: Date): Promise<FoldResult> {
  const { projection, db, position, context } = scope
  const late = await retryDeadLetters(scope)
  if (late.outcome === 'stale') return late
  const statements = (await projection.tick?.(db, instant, context)) ?? []
  if (statements.length === 0) return late
  return (await position.commit(statements)) ?? late
}

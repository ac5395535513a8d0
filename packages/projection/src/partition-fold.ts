import type { CatalogView } from '@nextvisit/catalog'
import { HEADERS } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import type { Checkpoint, CheckpointKey } from './checkpoints.ts'
import { GapError, orFoldFailed } from './errors.ts'
import { type FoldBatchOptions, foldBatch } from './fold-batch.ts'
import { foldInParts } from './fold-in-parts.ts'
import type { FoldScope } from './fold-records.ts'
import { type FoldResult, NOTHING_FOLDED } from './fold-result.ts'
import { requireSameLog } from './log-identity.ts'
import { createPosition } from './position.ts'
import type { Projection } from './projection.ts'
import { retryDeadLetters } from './retry-dead-letters.ts'

export interface PartitionFoldOptions<Fact, Draft> extends Omit<FoldBatchOptions<Fact>, 'deadBecause'> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  /** Goes into dead letters. */
  readonly serviceVersion: string
  readonly isRebuild?: boolean
  /** Records that become dead letters even where they can be parsed: in a rebuild, those that are dead letters live. */
  readonly isHeldBack?: (record: FetchedRecord) => boolean
}

/** One partition's fold: the only place that writes a read model and moves its checkpoint. Not for concurrent use. */
export interface PartitionFold {
  /** Reads the checkpoint. Creates it at offset 0 if this partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * Folds and commits what the batch holds beyond the checkpoint; only its beginning where a later record fails: the
   * checkpoint shows it, and the next call fails with that record. Throws {@link GapError},
   * {@link CheckpointOfAnotherLogError}, {@link FoldFailedError}, and what the database throws while it is unavailable or
   * busy. A commit that failed may have happened all the same: the next attempt finds out at the fence.
   */
  readonly fold: (batch: FetchedBatch) => Promise<FoldResult>
  /** From now on the record at `offset` is a dead letter, for this reason. */
  readonly setAside: (offset: bigint, reason: string) => void
  /** Retries dead letters that an operator wants retried, then does what time alone does, as of `instant`. */
  readonly tick: (instant: Date) => Promise<FoldResult>
  /** Only the retry of dead letters, as many as go into one commit. */
  readonly retry: () => Promise<FoldResult>
}

export function createPartitionFold<Fact, Draft>(options: PartitionFoldOptions<Fact, Draft>): PartitionFold {
  const { projection, db, topic, partition, catalog, isRebuild = false, isHeldBack } = options
  const key: CheckpointKey = { projection: projection.name, topic, partition }
  const position = createPosition(db, key)
  const { open, checkpoint } = position
  const nextOffset = () => checkpoint().nextOffset
  const setAside = new Map<bigint, string>()
  const deadBecause = (record: FetchedRecord): string | undefined =>
    isHeldBack?.(record) ? 'a dead letter of the live read models' : setAside.get(record.offset)
  const scope = { ...options, position, deadBecause, context: { catalog, partition, isRebuild } }

  const foldPart = (part: FetchedBatch): Promise<FoldResult> => {
    const [only, ...others] = part.records
    const failed = only && others.length === 0 ? { offset: only.offset, id: only.headers[HEADERS.id] } : nextOffset()
    return orFoldFailed(key, failed, foldBatch(scope, part))
  }

  return {
    open,
    checkpoint,
    fold: async (batch) => {
      const from = nextOffset()
      if (batch.fetchedFrom > from) throw new GapError(key, from, batch.fetchedFrom)
      requireSameLog(key, checkpoint(), batch)
      if (batch.nextOffset <= from) return NOTHING_FOLDED
      const unfolded = batch.records.filter(({ offset }) => offset >= from)
      return foldInParts({ fold: foldPart, nextOffset }, { ...batch, records: unfolded })
    },
    setAside: (offset, reason) => void setAside.set(offset, reason),
    tick: async (instant) => orFoldFailed(key, nextOffset(), runTick(scope, instant)),
    retry: async () => orFoldFailed(key, nextOffset(), retryDeadLetters(scope)),
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

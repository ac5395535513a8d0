import type { CatalogView } from '@nextvisit/catalog'
import type { CommitDb } from '@nextvisit/database'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { retryDeadLetters, type TickScope } from '../dead-letters/retry-dead-letters.ts'
import { GapError, orFoldFailed } from '../errors.ts'
import type { Projection } from '../projection.ts'
import type { Checkpoint, CheckpointKey } from './checkpoints.ts'
import { type CommonFold, createCommonFold } from './common-fold.ts'
import type { GroupScope } from './fold-group.ts'
import { type FoldResult, NOTHING_FOLDED } from './fold-result.ts'
import { requireSameLog } from './log-identity.ts'
import { commit, createPosition } from './position.ts'

export interface PartitionFoldOptions<Fact, Draft> extends Omit<GroupScope<Fact, Draft>, 'context'> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly topic: string
  readonly partition: number
  readonly catalog: CatalogView
  readonly isRebuild?: boolean
  /** Over how many partitions keys are spread. Stored with a new checkpoint. */
  readonly keyPartitions?: number | undefined
  /** Folds the batches, together with those of other partitions. Left out: this partition has one of its own. */
  readonly common?: CommonFold
  /** Records that become dead letters even where they can be parsed: in a rebuild, those that are dead letters live. */
  readonly isHeldBack?: (record: FetchedRecord) => boolean
}

/** One partition's fold: with the others of its common fold the only place that writes a read model. Not for concurrent use. */
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
  const position = createPosition(db, key, options.keyPartitions)
  const { open, checkpoint } = position
  const nextOffset = () => checkpoint().nextOffset
  const setAside = new Map<bigint, string>()
  const deadBecause = (record: FetchedRecord): string | undefined =>
    isHeldBack?.(record) ? 'a dead letter of the live read models' : setAside.get(record.offset)
  const scope = { ...options, position, context: { catalog, isRebuild } }
  const common = options.common ?? createCommonFold(scope)

  return {
    open,
    checkpoint,
    fold: async (batch) => {
      const from = nextOffset()
      if (batch.fetchedFrom > from) throw new GapError(key, from, batch.fetchedFrom)
      requireSameLog(key, checkpoint(), batch)
      if (batch.nextOffset <= from) return NOTHING_FOLDED
      const records = batch.records.filter(({ offset }) => offset >= from)
      return common.fold({ position, batch: { ...batch, records }, deadBecause })
    },
    setAside: (offset, reason) => void setAside.set(offset, reason),
    tick: async (instant) => orFoldFailed(key, nextOffset(), runTick(scope, instant)),
    retry: async () => orFoldFailed(key, nextOffset(), retryDeadLetters(scope)),
  }
}

async function runTick<Fact, Draft>(scope: TickScope<Fact, Draft>, instant: Date): Promise<FoldResult> {
  const { projection, db, position, context } = scope
  const late = await retryDeadLetters(scope)
  if (late.outcome === 'stale') return late
  const { partition } = position.key
  const following: (() => void)[] = []
  const onCommit = (run: () => void): void => void following.push(run)
  const statements = (await projection.tick?.(db, instant, { ...context, partition, onCommit })) ?? []
  if (statements.length === 0) return late
  const stale = (await commit(db, [{ position }], statements)).get(position)
  if (!stale) for (const run of following) run()
  return stale ?? late
}

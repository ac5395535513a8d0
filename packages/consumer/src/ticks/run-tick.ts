import { retryDeadLetters } from '../dead-letters/retry-dead-letters.ts'
import { orFoldFailed } from '../errors.ts'
import type { PartitionCheckpoint } from '../fold/checkpoint.ts'
import { commit } from '../fold/commit.ts'
import type { Core } from '../fold/core.ts'
import type { Folded, Stale } from '../fold/partition-batch.ts'

/**
 * Retries dead letters that an operator wants retried, then commits the changes that time alone makes to the partition's
 * rows, as of `instant`. Throws `FoldFailedError` for a bug, and the database's error while that is unavailable or busy.
 */
export async function runTick<Fact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  instant: Date,
): Promise<Folded | Stale> {
  return orFoldFailed(checkpoint.key, checkpoint.current().nextOffset, commitTick(core, checkpoint, instant))
}

async function commitTick<Fact, Draft>(
  core: Core<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  instant: Date,
): Promise<Folded | Stale> {
  const { projection, db, context } = core
  const retried = await retryDeadLetters(core, checkpoint)
  if (retried.outcome === 'stale') return retried
  const { partition } = checkpoint.key
  const following: (() => void)[] = []
  const onCommit = (run: () => void): void => void following.push(run)
  const statements = (await projection.tick?.(db, instant, { ...context, partition, onCommit })) ?? []
  if (statements.length === 0) return retried
  const stale = (await commit(db, [{ checkpoint }], statements)).get(checkpoint)
  if (!stale) for (const run of following) run()
  return stale ?? retried
}

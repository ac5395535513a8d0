import { foldRetries } from './fold-retries.ts'
import { orFoldFailed } from '../core/errors.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import { commit } from './commit.ts'
import { contextOf, type FoldParts } from './fold-parts.ts'
import type { Folded, Stale } from './outcome.ts'
import { insertOutbox } from '../outbox/outbox.ts'
import type { AnyFact } from '../core/projection.ts'

/**
 * Retries dead letters that an operator wants retried, then commits the changes that time alone makes to the partition's
 * rows, as of `instant`. Throws `FoldFailedError` for a bug, and the database's error while that is unavailable or busy.
 */
export async function runTick<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  instant: Date,
): Promise<Folded | Stale> {
  return orFoldFailed(checkpoint.key, checkpoint.current().nextOffset, retryAndTick(parts, checkpoint, instant))
}

async function retryAndTick<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  checkpoint: PartitionCheckpoint,
  instant: Date,
): Promise<Folded | Stale> {
  const { projection, db } = parts
  const retried = await foldRetries(parts, checkpoint)
  if (retried.outcome === 'stale') return retried
  const { partition } = checkpoint.key
  const writes = await projection.ticks?.tick(db, instant, { ...contextOf(parts), partition })
  if (!writes) return retried
  const statements = [...writes.statements, ...insertOutbox(writes.outbox ?? [])]
  if (statements.length === 0) return retried
  const stale = (await commit(db, [{ checkpoint }], statements)).get(checkpoint)
  if (stale) return stale
  writes.afterCommit?.()
  return retried
}

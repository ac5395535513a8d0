import type { CommitDb, Db, Statement } from '@nextvisit/database'
import {
  type Checkpoint,
  fence,
  isStale,
  type Move,
  movedCheckpoint,
  type PartitionCheckpoint,
  readCheckpoints,
} from './checkpoint.ts'
import type { Stale } from './outcome.ts'

/** The move of a partition that this process owns. */
interface OwnMove extends Move {
  readonly checkpoint: PartitionCheckpoint
}

/**
 * Executes the one transaction of a commit: the fences of all partitions, then the statements. If another owner has moved a
 * checkpoint, nothing is written for any partition, and the stale ones are returned. Empty: committed.
 */
export async function commit(
  db: CommitDb,
  moves: readonly OwnMove[],
  statements: readonly Statement[],
): Promise<ReadonlyMap<PartitionCheckpoint, Stale>> {
  const moved = moves.map((move) => ({
    checkpoint: move.checkpoint,
    read: move.checkpoint.current(),
    next: movedCheckpoint(move),
  }))
  try {
    await db.executeAll([fence(moves), ...statements])
  } catch (error) {
    if (!isStale(error)) throw error
    const stale = await findStale(db, moved)
    if (stale.size === 0) throw error // an empty map would mean that it is committed
    return stale
  }
  for (const { checkpoint, next } of moved) checkpoint.replace(next)
  return new Map()
}

/** Finds the checkpoints that have moved, and notes where they are: the next attempt continues from there. */
async function findStale(
  db: Db,
  moved: readonly { readonly checkpoint: PartitionCheckpoint; readonly read: Checkpoint }[],
): Promise<ReadonlyMap<PartitionCheckpoint, Stale>> {
  const keys = moved.map(({ checkpoint }) => checkpoint.key)
  const found = await readCheckpoints(db, keys)
  const stale = new Map<PartitionCheckpoint, Stale>()
  for (const [index, { checkpoint, read }] of moved.entries()) {
    const stored = found[index]
    if (stored?.version === read.version && stored.table === read.table) continue
    checkpoint.replace(stored)
    const isSwapped = stored !== undefined && stored.table !== read.table
    stale.set(checkpoint, isSwapped ? { outcome: 'stale', isSwapped } : { outcome: 'stale' })
  }
  return stale
}

import type { CommitDb, Db, Statement } from '@nextvisit/database'
import { type Checkpoint, fence, isStale, type PartitionCheckpoint, readCheckpoints } from './checkpoint.ts'
import type { Stale } from './partition-batch.ts'

/** The new place of a checkpoint. Without it the checkpoint keeps its offset, and the fence still guards it. */
export type Advance = Pick<Checkpoint, 'nextOffset' | 'recordTime'>

/** A checkpoint that a commit writes under. */
export interface Moved {
  readonly checkpoint: PartitionCheckpoint
  readonly advance?: Advance
}

/**
 * Executes the one transaction of a commit: the fences of all partitions, then the statements. If another owner has moved a
 * checkpoint, nothing is written for any partition, and the stale ones are returned. Empty: committed.
 */
export async function commit(
  db: CommitDb,
  moved: readonly Moved[],
  statements: readonly Statement[],
): Promise<ReadonlyMap<PartitionCheckpoint, Stale>> {
  const moves = moved.map(({ checkpoint, advance }) => {
    const read = checkpoint.current()
    const { nextOffset, recordTime = read.recordTime } = advance ?? read
    return { checkpoint, key: checkpoint.key, read, nextOffset, recordTime }
  })
  try {
    await db.executeAll([fence(moves), ...statements])
  } catch (error) {
    if (!isStale(error)) throw error
    const stale = await findStale(db, moves)
    if (stale.size === 0) throw error // an empty map would mean that it is committed
    return stale
  }
  for (const { checkpoint, read, nextOffset, recordTime } of moves) {
    checkpoint.replace({ ...read, nextOffset, recordTime, version: read.version + 1n })
  }
  return new Map()
}

/** Finds the checkpoints that have moved, and notes where they are: the next attempt continues from there. */
async function findStale(
  db: Db,
  moves: readonly { readonly checkpoint: PartitionCheckpoint; readonly read: Checkpoint }[],
): Promise<ReadonlyMap<PartitionCheckpoint, Stale>> {
  const keys = moves.map(({ checkpoint }) => checkpoint.key)
  const found = await readCheckpoints(db, keys)
  const stale = new Map<PartitionCheckpoint, Stale>()
  for (const [index, { checkpoint, read }] of moves.entries()) {
    const stored = found[index]
    if (stored?.version === read.version && stored.table === read.table) continue
    checkpoint.replace(stored)
    const isSwapped = stored !== undefined && stored.table !== read.table
    stale.set(checkpoint, isSwapped ? { outcome: 'stale', isSwapped } : { outcome: 'stale' })
  }
  return stale
}

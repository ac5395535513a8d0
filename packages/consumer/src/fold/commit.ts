import { type CommitDb, type Db, sql, sqlStateOf, type Sql } from '@nextvisit/database'
import { type Checkpoint, type PartitionCheckpoint, readCheckpoints } from './checkpoint.ts'
import type { Stale } from './partition-batch.ts'

/** A checkpoint that a commit writes under. */
interface Move {
  readonly checkpoint: PartitionCheckpoint
  /** Its new place. Absent: it keeps its offset, and the fence still guards it. */
  readonly to?: Pick<Checkpoint, 'nextOffset' | 'recordTime'>
}

/**
 * Executes the one transaction of a commit: the fences of all partitions, then the statements. If another owner has moved a
 * checkpoint, nothing is written for any partition, and the stale ones are returned. Empty: committed.
 */
export async function commit(
  db: CommitDb,
  moves: readonly Move[],
  statements: readonly Sql[],
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

/** Returns the checkpoint as it will be once the move is committed. */
function movedCheckpoint({ checkpoint, to }: Move): Checkpoint {
  const read = checkpoint.current()
  const { nextOffset, recordTime = read.recordTime } = to ?? read
  return { ...read, nextOffset, recordTime, version: read.version + 1n }
}

/**
 * Returns the first statement of every commit. It raises NV001 unless every checkpoint is still as it was read. It locks
 * them in one order, so that commits never deadlock here.
 */
export function fence(moves: readonly Move[]): Sql {
  const rows = moves
    .map((move) => ({ ...move.checkpoint.key, read: move.checkpoint.current(), next: movedCheckpoint(move) }))
    .toSorted((one, other) =>
      one.topic === other.topic ? one.partition - other.partition : one.topic < other.topic ? -1 : 1,
    )
  return sql`
    SELECT advance_checkpoint(projection, topic, partition, read_version, next_offset, record_time)
    FROM unnest(
      ${rows.map(({ projection }) => projection)}::text[], ${rows.map(({ topic }) => topic)}::text[],
      ${rows.map(({ partition }) => partition)}::int[], ${rows.map(({ read }) => read.version)}::bigint[],
      ${rows.map(({ next }) => next.nextOffset)}::bigint[], ${rows.map(({ next }) => next.recordTime)}::timestamptz[]
    ) AS moved (projection, topic, partition, read_version, next_offset, record_time)`
}

/** Returns true if a commit failed at the fence: another process has moved the checkpoint since it was read. */
function isStale(error: unknown): boolean {
  return sqlStateOf(error) === 'NV001'
}

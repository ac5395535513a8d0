import type { CommitDb, Db, Statement } from '@nextvisit/database'
import {
  type Checkpoint,
  type CheckpointKey,
  createCheckpoint,
  fence,
  isStale,
  readCheckpoint,
  readCheckpoints,
} from './checkpoints.ts'
import type { Stale } from './fold-result.ts'

/** Where a commit moves the checkpoint to. */
export type Advance = Pick<Checkpoint, 'nextOffset' | 'recordTime'>

/** The checkpoint of one partition, as this process last read or committed it. */
export interface Position {
  readonly key: CheckpointKey
  /** Reads the checkpoint. Creates it at offset 0 if this partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /** The checkpoint is this now; undefined: there is none any more. */
  readonly notice: (checkpoint: Checkpoint | undefined) => void
}

/** `keyPartitions`: over how many partitions keys are spread, if it is known. Stored with a new checkpoint. */
export function createPosition(db: Db, key: CheckpointKey, keyPartitions?: number): Position {
  let current: Checkpoint | undefined

  const checkpoint = (): Checkpoint => {
    if (!current) throw new Error(`${key.projection} has no checkpoint of ${key.topic}/${key.partition}`)
    return current
  }

  const open: Position['open'] = async () => {
    const found = await readCheckpoint(db, key)
    if (!found) await createCheckpoint(db, key, keyPartitions)
    current = found ?? (await readCheckpoint(db, key))
    return checkpoint()
  }

  return { key, open, checkpoint, notice: (found) => void (current = found) }
}

/** A partition that a commit writes for. Without `advance` its checkpoint keeps its offset, and the fence still guards it. */
export interface CommitPart {
  readonly position: Position
  readonly advance?: Advance
}

/**
 * The one transaction: the fences of all partitions that it writes for, then these statements. Where another owner has
 * moved a checkpoint, nothing is written for any of them, and the answer names the partitions that are stale. Empty:
 * committed.
 */
export async function commit(
  db: CommitDb,
  parts: readonly CommitPart[],
  statements: readonly Statement[],
): Promise<ReadonlyMap<Position, Stale>> {
  const moves = parts.map(({ position, advance }) => {
    const read = position.checkpoint()
    const { nextOffset, recordTime = read.recordTime } = advance ?? read
    return { position, key: position.key, read, nextOffset, recordTime }
  })
  try {
    await db.executeAll([fence(moves), ...statements])
  } catch (error) {
    if (!isStale(error)) throw error
    const stale = await findStale(db, moves)
    if (stale.size === 0) throw error // an empty answer would say that it is committed
    return stale
  }
  for (const { position, read, nextOffset, recordTime } of moves) {
    position.notice({ ...read, nextOffset, recordTime, version: read.version + 1n })
  }
  return new Map()
}

/** Which checkpoints have moved. Those are read again: the next attempt continues from there. */
async function findStale(
  db: Db,
  moves: readonly { readonly position: Position; readonly read: Checkpoint }[],
): Promise<ReadonlyMap<Position, Stale>> {
  const found = await readCheckpoints(
    db,
    moves.map(({ position }) => position.key),
  )
  const stale = new Map<Position, Stale>()
  for (const [index, { position, read }] of moves.entries()) {
    const current = found[index]
    if (current?.version === read.version && current.table === read.table) continue
    position.notice(current)
    const isSwapped = current !== undefined && current.table !== read.table
    stale.set(position, isSwapped ? { outcome: 'stale', isSwapped } : { outcome: 'stale' })
  }
  return stale
}

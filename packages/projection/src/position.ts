import type { Db, Statement } from '@nextvisit/database'
import { type Checkpoint, type CheckpointKey, createCheckpoint, fence, isStale, readCheckpoint } from './checkpoints.ts'
import { executeAll } from './execute-all.ts'
import type { Stale } from './fold-result.ts'

/** Where a commit moves the checkpoint to. */
export type Advance = Pick<Checkpoint, 'nextOffset' | 'recordTime'>

/** The checkpoint of one partition, as this process last read or committed it. */
export interface Position {
  readonly key: CheckpointKey
  /** Reads the checkpoint. Creates it at offset 0 if this partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  readonly checkpoint: () => Checkpoint
  /**
   * The one transaction: the fence, then these statements. Without `advance` the checkpoint keeps its offset, and the
   * fence still guards it.
   */
  readonly commit: (statements: readonly Statement[], advance?: Advance) => Promise<Stale | undefined>
}

export function createPosition(db: Db, key: CheckpointKey): Position {
  let current: Checkpoint | undefined

  const checkpoint = (): Checkpoint => {
    if (!current) throw new Error(`${key.projection} has no checkpoint of ${key.topic}/${key.partition}`)
    return current
  }

  const open: Position['open'] = async () => {
    const found = await readCheckpoint(db, key)
    if (!found) await createCheckpoint(db, key)
    current = found ?? (await readCheckpoint(db, key))
    return checkpoint()
  }

  const commit: Position['commit'] = async (statements, advance) => {
    const read = checkpoint()
    const { nextOffset, recordTime = read.recordTime } = advance ?? read
    try {
      await executeAll(db, [fence(key, read, nextOffset, recordTime), ...statements])
    } catch (error) {
      if (!isStale(error)) throw error
      current = await readCheckpoint(db, key)
      const isSwapped = current !== undefined && current.table !== read.table
      return isSwapped ? { outcome: 'stale', isSwapped } : { outcome: 'stale' }
    }
    current = { ...read, nextOffset, recordTime, version: read.version + 1n }
    return undefined
  }

  return { key, open, checkpoint, commit }
}

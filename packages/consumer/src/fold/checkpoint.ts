import { type Db, sql } from '@nextvisit/database'
import { type CheckpointKey, checkpoints } from '../core/tables.ts'

export interface Checkpoint {
  readonly nextOffset: bigint
  readonly version: bigint
  /** Kafka's time of the last record that was passed, ISO; undefined before the first. */
  readonly recordTime?: string | undefined
  /** The oid of the table that it was read from. It changes when a replay swaps the schemas. */
  readonly table: number
  /**
   * The ids of all users of the partition with a fence, perhaps of more; `many`: too many for memory. Absent: not read since the
   * checkpoint was. Only its owner writes fences, so own commits keep it, and after that of another owner it is read again.
   */
  readonly erased?: Set<string> | 'many'
}

/** The checkpoint of one partition, as this process last read or committed it. */
export interface PartitionCheckpoint {
  readonly key: CheckpointKey
  /** Reads the checkpoint. Creates it at offset 0 if the partition was never seen. */
  readonly open: () => Promise<Checkpoint>
  /** Throws if there is none: it was not opened, or its row was deleted. */
  readonly current: () => Checkpoint
  /** Notes the checkpoint that a commit wrote or a query found; undefined: there is none any more. */
  readonly replace: (checkpoint: Checkpoint | undefined) => void
}

/** `keyPartitions`: the number of partitions that keys are spread over, if known. Stored with a new checkpoint. */
export function createPartitionCheckpoint(db: Db, key: CheckpointKey, keyPartitions?: number): PartitionCheckpoint {
  let stored: Checkpoint | undefined

  function current(): Checkpoint {
    if (!stored) throw new Error(`${key.projection} has no checkpoint of ${key.topic}/${key.partition}`)
    return stored
  }

  return {
    key,
    open: async () => {
      stored = await readCheckpoint(db, key)
      if (!stored) {
        await createCheckpoint(db, key, keyPartitions)
        stored = await readCheckpoint(db, key)
      }
      return current()
    },
    current,
    replace: (checkpoint) => void (stored = checkpoint),
  }
}

/** Reads a checkpoint; undefined if the partition was never seen. */
export async function readCheckpoint(db: Db, key: CheckpointKey): Promise<Checkpoint | undefined> {
  const [found] = await readCheckpoints(db, [key])
  return found
}

/** Reads checkpoints, in the order of the keys; undefined for each partition that was never seen. */
export async function readCheckpoints(
  db: Db,
  keys: readonly CheckpointKey[],
): Promise<readonly (Checkpoint | undefined)[]> {
  const rows = await db.$queryRaw<
    (CheckpointKey & { next_offset: bigint; version: bigint; record_time: Date | null; table_oid: bigint })[]
  >(sql`
    SELECT projection, topic, partition, next_offset, version, record_time, checkpoints.tableoid::int8 AS table_oid
    FROM checkpoints JOIN ${checkpoints.source('asked', keys)} USING (projection, topic, partition)`)
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  return keys.map((key) => {
    const row = byName.get(nameOf(key))
    return (
      row && {
        nextOffset: row.next_offset,
        version: row.version,
        recordTime: row.record_time?.toISOString(),
        table: Number(row.table_oid),
      }
    )
  })
}

function nameOf({ projection, topic, partition }: CheckpointKey): string {
  return `${projection}/${topic}/${partition}`
}

/** Opens checkpoints together. Creates those of partitions that were never seen at offset 0. */
export async function openCheckpoints(db: Db, keys: readonly CheckpointKey[]): Promise<readonly PartitionCheckpoint[]> {
  let stored = await readCheckpoints(db, keys)
  if (stored.includes(undefined)) {
    for (const [index, key] of keys.entries()) if (!stored[index]) await createCheckpoint(db, key)
    stored = await readCheckpoints(db, keys)
  }
  return keys.map((key, index) => {
    const checkpoint = createPartitionCheckpoint(db, key)
    checkpoint.replace(stored[index])
    return checkpoint
  })
}

/** Reads the next offset of each partition of a topic. */
export async function readNextOffsets(db: Db, projection: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
  const rows = await db.$queryRaw<{ partition: number; next_offset: bigint }[]>(sql`
    SELECT partition, next_offset FROM checkpoints WHERE projection = ${projection} AND topic = ${topic}`)
  return new Map(rows.map((row) => [row.partition, row.next_offset]))
}

/**
 * Creates the checkpoint of a partition that was never seen: at 0, even if the log begins later. A fold over the rest of a
 * log would be wrong. The checkpoint is then outside the log, and the partition halts.
 */
export async function createCheckpoint(db: Db, key: CheckpointKey, keyPartitions?: number): Promise<void> {
  const row = { ...key, nextOffset: 0n, keyPartitions: keyPartitions ?? null }
  for (const insertion of checkpoints.insertMissing([row])) await db.$executeRaw(insertion)
}

/** Reads the number of partitions that the keys of folded records were spread over: one number, or none before the first. */
export async function readFoldedKeyPartitions(db: Db, projection: string): Promise<readonly number[]> {
  const rows = await db.$queryRaw<{ keyPartitions: number }[]>(sql`
    SELECT DISTINCT key_partitions AS "keyPartitions" FROM checkpoints
    WHERE projection = ${projection} AND key_partitions IS NOT NULL`)
  return rows.map(({ keyPartitions }) => keyPartitions)
}

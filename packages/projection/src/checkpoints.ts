import { type Db, sql, sqlStateOf, type Statement } from '@nextvisit/database'
import { checkpoints } from './tables.ts'

/** Which partition of which topic a projection has folded. */
export interface CheckpointKey {
  readonly projection: string
  readonly topic: string
  readonly partition: number
}

export interface Checkpoint {
  readonly nextOffset: bigint
  readonly version: bigint
  /** Kafka's time of the last record passed, ISO; undefined before the first. */
  readonly recordTime?: string | undefined
  /** The oid of the table that it was read from: another one after a replay has swapped the schemas. */
  readonly table: number
}

/** The checkpoint as it stands. Undefined where this partition was never seen. */
export async function readCheckpoint(
  db: Db,
  { projection, topic, partition }: CheckpointKey,
): Promise<Checkpoint | undefined> {
  const [row] = await db.$queryRaw<StoredCheckpoint[]>(sql`
    SELECT next_offset, version, record_time, tableoid::int8 AS table_oid FROM checkpoints
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}`)
  return (
    row && {
      nextOffset: row.next_offset,
      version: row.version,
      recordTime: row.record_time?.toISOString(),
      table: Number(row.table_oid),
    }
  )
}

interface StoredCheckpoint {
  readonly next_offset: bigint
  readonly version: bigint
  readonly record_time: Date | null
  readonly table_oid: bigint
}

/** How far each partition of a topic is folded. */
export async function readNextOffsets(db: Db, projection: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
  const rows = await db.$queryRaw<{ partition: number; next_offset: bigint }[]>(sql`
    SELECT partition, next_offset FROM checkpoints WHERE projection = ${projection} AND topic = ${topic}`)
  return new Map(rows.map((row) => [row.partition, row.next_offset]))
}

/**
 * Creates the checkpoint of a partition that was never seen: at 0 even if the log begins later. A fold over the rest of a
 * log would be wrong, so the checkpoint is then outside the log, and the partition halts.
 */
export async function createCheckpoint(db: Db, key: CheckpointKey): Promise<void> {
  for (const insertion of checkpoints.insertMissing([{ ...key, nextOffset: 0n }])) await db.$executeRaw(insertion)
}

/** The first statement of every commit. Raises NV001 unless the checkpoint is still `read`. */
export function fence(
  { projection, topic, partition }: CheckpointKey,
  read: Checkpoint,
  nextOffset: bigint,
  recordTime: string | undefined,
): Statement {
  return sql`
    SELECT advance_checkpoint(
      ${projection}, ${topic}, ${partition}::int, ${read.version}::bigint, ${nextOffset}::bigint,
      ${recordTime ?? null}::timestamptz
    )`
}

/** Whether a commit failed at the fence: another process has moved the checkpoint since it was read. */
export function isStale(error: unknown): boolean {
  return sqlStateOf(error) === 'NV001'
}

import { type Db, sql } from '@nextvisit/database'
import type { CheckpointKey } from '../core/tables.ts'
import type { PartitionAlarm } from '../partition/partition-progress.ts'

/**
 * Writes or repeats an alarm. Writes nothing if the checkpoint is past its offset: then the writer has lost the partition.
 * Keeps the beginning of the alarm, and an operator's request, while the offset stays the same.
 */
export async function raiseAlarm(db: Db, key: CheckpointKey, alarm: PartitionAlarm): Promise<void> {
  const { projection, topic, partition } = key
  const { kind, offset, recordId = null, code, message, sinceMs } = alarm
  await db.$executeRaw(sql`
    INSERT INTO partition_alarms AS known (projection, topic, partition, kind, "offset", record_id, code, message, since)
    SELECT projection, topic, partition, ${kind}, ${offset}::bigint, ${recordId}, ${code}, ${message},
           ${new Date(sinceMs)}::timestamptz
    FROM checkpoints
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}::int
      AND next_offset <= ${offset}::bigint
    ON CONFLICT (projection, topic, partition, kind) DO UPDATE SET
      "offset" = excluded."offset", record_id = excluded.record_id, code = excluded.code, message = excluded.message,
      last_at = now(),
      since = CASE WHEN known."offset" = excluded."offset" THEN least(known.since, excluded.since) ELSE excluded.since END,
      set_aside_by = CASE WHEN known."offset" = excluded."offset" THEN known.set_aside_by END,
      set_aside_at = CASE WHEN known."offset" = excluded."offset" THEN known.set_aside_at END`)
}

/**
 * Ends alarms that no commit ends: of ticks that succeed again, and of a stall when no record waits any more. For a
 * partition whose checkpoint was opened: a halt whose log is valid again, and a stall at the log's end. A halt at a record
 * stays: an operator may have asked to set it aside.
 */
export async function endAlarms(
  db: Db,
  { projection, topic, partition }: CheckpointKey,
  ended: 'ticks' | 'stalled' | { readonly openedBefore: bigint },
): Promise<void> {
  const isEnded =
    typeof ended === 'string'
      ? sql`kind = ${ended}`
      : sql`(kind = 'halted' AND code <> 'FOLD_FAILED' AND record_id IS NULL OR kind = 'stalled' AND "offset" >= ${ended.openedBefore}::bigint)`
  await db.$executeRaw(sql`
    DELETE FROM partition_alarms
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ${partition}::int AND ${isEnded}`)
}

/** Reads operators' requests to set records aside, with their names. */
export async function readSetAside(
  db: Db,
  { projection, topic }: Omit<CheckpointKey, 'partition'>,
  partitions: readonly number[],
): Promise<readonly { readonly partition: number; readonly offset: bigint; readonly by: string }[]> {
  return db.$queryRaw<{ partition: number; offset: bigint; by: string }[]>(sql`
    SELECT partition, "offset", set_aside_by AS by FROM partition_alarms
    WHERE projection = ${projection} AND topic = ${topic} AND partition = ANY(${partitions}::int[])
      AND kind = 'halted' AND set_aside_at IS NOT NULL`)
}

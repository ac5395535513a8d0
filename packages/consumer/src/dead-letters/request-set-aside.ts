import type { LogPosition } from '@nextvisit/contracts'
import { type Queryable, sql, type Sql } from '@nextvisit/database'
import { type Answer, isAt, readDeadLetterAt } from './read-dead-letters.ts'

/**
 * Requests that the owner of a halted partition makes the record that halts it a dead letter. Repeating the request changes
 * nothing. Refuses a position at which the partition is not halted.
 */
export async function requestSetAside(
  db: Queryable,
  projection: string,
  position: LogPosition,
  by: string,
): Promise<Answer<'setAside'>> {
  const requested = await db.$queryRaw<unknown[]>(sql`
    UPDATE partition_alarms
    SET set_aside_by = coalesce(set_aside_by, ${by}), set_aside_at = coalesce(set_aside_at, now())
    WHERE ${isHalted(projection, position)} AND "offset" = ${position.offset}::bigint AND record_id IS NOT NULL
    RETURNING partition`)
  if (requested.length > 0) return { outcome: 'asked' }
  const letter = await readDeadLetterAt(db, projection, position)
  if (letter) return { outcome: 'dead-letter', id: letter.id }
  const reason = await describeHalt(db, projection, position)
  return { outcome: 'refused', reason, ...((await isBefore(db, projection, position)) && { isBefore: true }) }
}

async function isBefore(db: Queryable, projection: string, position: LogPosition): Promise<boolean> {
  const found = await db.$queryRaw<unknown[]>(sql`
    SELECT partition FROM checkpoints
    WHERE ${isAt(projection, position)} AND next_offset <= ${position.offset}::bigint`)
  return found.length > 0
}

function isHalted(projection: string, position: LogPosition): Sql {
  return sql`${isAt(projection, position)} AND kind = 'halted'
    AND "offset" >= (SELECT next_offset FROM checkpoints WHERE ${isAt(projection, position)})`
}

/** Explains why there is nothing to set aside at this position. */
async function describeHalt(db: Queryable, projection: string, position: LogPosition): Promise<string> {
  const [halt] = await db.$queryRaw<{ offset: string; code: string; hasRecord: boolean }[]>(sql`
    SELECT "offset"::text, code, record_id IS NOT NULL AS "hasRecord" FROM partition_alarms
    WHERE ${isHalted(projection, position)}`)
  const where = `on ${position.topic}/${position.partition}`
  if (!halt) return `${projection} is not halted ${where}.`
  if (!halt.hasRecord) return `${projection} is halted ${where} by ${halt.code}, not by a record.`
  return `${projection} is halted ${where} at offset ${halt.offset}, not at ${position.offset}.`
}

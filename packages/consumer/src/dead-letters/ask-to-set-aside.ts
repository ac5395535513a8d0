import { type Query, sql, type Statement } from '@nextvisit/database'
import { isAt, type LetterPlace, readDeadLetterAt } from './read-dead-letters.ts'

export type SetAsideOutcome =
  /** The partition's owner does it in its next commit. */
  | { readonly outcome: 'asked' }
  | { readonly outcome: 'dead-letter'; readonly id: string }
  /** There is nothing to set aside at this offset; `reason` is a sentence. Nothing was done. */
  | { readonly outcome: 'refused'; readonly reason: string }

/**
 * Asks the owner of a halted partition to make the record that it is halted at a dead letter. Asking twice changes nothing.
 * Refuses an offset at which the partition is not halted.
 */
export async function askToSetAside(query: Query, place: LetterPlace, by: string): Promise<SetAsideOutcome> {
  const asked = await query(sql`
    UPDATE partition_alarms
    SET set_aside_by = coalesce(set_aside_by, ${by}), set_aside_at = coalesce(set_aside_at, now())
    WHERE ${isHalted(place)} AND "offset" = ${place.offset}::bigint AND record_id IS NOT NULL
    RETURNING partition`)
  if (asked.length > 0) return { outcome: 'asked' }
  const letter = await readDeadLetterAt(query, place)
  return letter
    ? { outcome: 'dead-letter', id: letter.id }
    : { outcome: 'refused', reason: await describeHalt(query, place) }
}

function isHalted(place: LetterPlace): Statement {
  return sql`${isAt(place)} AND kind = 'halted'
    AND "offset" >= (SELECT next_offset FROM checkpoints WHERE ${isAt(place)})`
}

/** Why there is nothing to set aside at this offset. */
async function describeHalt(query: Query, place: LetterPlace): Promise<string> {
  const { projection, topic, partition, offset } = place
  const [halt] = await query<{ offset: string; code: string; hasRecord: boolean }>(sql`
    SELECT "offset"::text, code, record_id IS NOT NULL AS "hasRecord" FROM partition_alarms WHERE ${isHalted(place)}`)
  const where = `on ${topic}/${partition}`
  if (!halt) return `${projection} is not halted ${where}.`
  if (!halt.hasRecord) return `${projection} is halted ${where} by ${halt.code}, not by a record.`
  return `${projection} is halted ${where} at offset ${halt.offset}, not at ${offset}.`
}

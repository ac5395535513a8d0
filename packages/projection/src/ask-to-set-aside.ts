import { type Query, sql, type Statement } from '@nextvisit/database'

/** A place in the log at which a partition may be halted. */
export interface HaltedPlace {
  readonly projection: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
}

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
export async function askToSetAside(query: Query, place: HaltedPlace, by: string): Promise<SetAsideOutcome> {
  const asked = await query(sql`
    UPDATE partition_alarms
    SET set_aside_by = coalesce(set_aside_by, ${by}), set_aside_at = coalesce(set_aside_at, now())
    WHERE ${isHalted(place)} AND "offset" = ${place.offset}::bigint AND record_id IS NOT NULL
    RETURNING partition`)
  if (asked.length > 0) return { outcome: 'asked' }
  const id = await findLetterAt(query, place)
  return id === undefined
    ? { outcome: 'refused', reason: await describeHalt(query, place) }
    : { outcome: 'dead-letter', id }
}

/** The id of the dead letter that the record at this place is; undefined: it is none. */
export async function findLetterAt(query: Query, place: HaltedPlace): Promise<string | undefined> {
  const [letter] = await query<{ id: string }>(
    sql`SELECT id::text FROM dead_letters WHERE ${isAt(place)} AND "offset" = ${place.offset}::bigint`,
  )
  return letter?.id
}

function isAt({ projection, topic, partition }: HaltedPlace): Statement {
  return sql`projection = ${projection} AND topic = ${topic} AND partition = ${partition}::int`
}

function isHalted(place: HaltedPlace): Statement {
  return sql`${isAt(place)} AND kind = 'halted'
    AND "offset" >= (SELECT next_offset FROM checkpoints WHERE ${isAt(place)})`
}

/** Why there is nothing to set aside at this offset. */
async function describeHalt(query: Query, place: HaltedPlace): Promise<string> {
  const { projection, topic, partition, offset } = place
  const [halt] = await query<{ offset: string; code: string; hasRecord: boolean }>(sql`
    SELECT "offset"::text, code, record_id IS NOT NULL AS "hasRecord" FROM partition_alarms WHERE ${isHalted(place)}`)
  const where = `on ${topic}/${partition}`
  if (!halt) return `${projection} is not halted ${where}.`
  if (!halt.hasRecord) return `${projection} is halted ${where} by ${halt.code}, not by a record.`
  return `${projection} is halted ${where} at offset ${halt.offset}, not at ${offset}.`
}

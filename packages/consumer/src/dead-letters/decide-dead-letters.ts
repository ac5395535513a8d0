import { type DeadLetterSelection, type LogPosition, MAX_DECIDED_DEAD_LETTERS } from '@nextvisit/contracts'
import { type Queryable, sql, type Sql } from '@nextvisit/database'
import { type Answer, CAUSE_ID, hasCause, instantOf, type Question } from './read-dead-letters.ts'

const MAX_CAUSES = 10

/** Counts the selected that are dead. */
export async function countDead(db: Queryable, projection: string, selected: DeadLetterSelection): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>(
    sql`SELECT count(*)::int AS count FROM dead_letters WHERE ${isSelectedDead(projection, selected)}`,
  )
  return row?.count ?? 0
}

/** Returns those of these ids that name no dead letter of the projection, in any state. */
export async function findMissing(db: Queryable, projection: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>(sql`
    SELECT id::text FROM unnest(${ids}::bigint[]) AS asked (id)
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE projection = ${projection} AND dead_letters.id = asked.id)
    ORDER BY asked.id`)
  return rows.map(({ id }) => id)
}

/** Returns those of these records of which the projection has no dead letter, in any state. */
export async function findMissingRecords(
  db: Queryable,
  projection: string,
  records: readonly LogPosition[],
): Promise<LogPosition[]> {
  return db.$queryRaw<LogPosition[]>(sql`
    SELECT topic, partition, "offset"::text FROM ${positions(records)} AS asked (topic, partition, "offset")
    WHERE NOT EXISTS (
      SELECT FROM dead_letters AS own WHERE projection = ${projection}
        AND (own.topic, own.partition, own."offset") = (asked.topic, asked.partition, asked."offset"))
    ORDER BY asked.topic, asked.partition, asked."offset"`)
}

function positions(records: readonly LogPosition[]): Sql {
  return sql`unnest(
    ${records.map(({ topic }) => topic)}::text[], ${records.map(({ partition }) => partition)}::int[],
    ${records.map(({ offset }) => offset)}::bigint[])`
}

/**
 * Marks the selected that are dead, the oldest {@link MAX_DECIDED_DEAD_LETTERS} of them: to be folded again, or never. Skips
 * those that are marked, folded or discarded already, so that a repeated decision changes nothing.
 */
export async function decideDeadLetters(
  db: Queryable,
  projection: string,
  { selected, decision, by, continues }: Question<'decide'>,
): Promise<Answer<'decide'>> {
  const [decided] = await db.$queryRaw<Omit<Answer<'decide'>, 'isFull'>[]>(sql`
    WITH decided AS (
      UPDATE dead_letters
      SET state = ${decision === 'retry' ? 'retry' : 'discarded'}, decided_by = ${by},
          decided_at = coalesce(${continues}::timestamptz, date_trunc('milliseconds', now()))
      WHERE id = ANY(ARRAY(
        SELECT id FROM dead_letters WHERE ${isSelectedDead(projection, selected)}
        ORDER BY id LIMIT ${MAX_DECIDED_DEAD_LETTERS} FOR UPDATE
      ))
      RETURNING decided_at
    )
    SELECT count(*)::int AS count, ${instantOf(sql`max(decided_at)`)} AS "decidedAt" FROM decided`)
  const { count, decidedAt } = decided ?? { count: 0, decidedAt: null }
  return { count, decidedAt, isFull: count === MAX_DECIDED_DEAD_LETTERS }
}

/** Counts the dead letters of a decision by state. Those that a later decision has changed do not count. */
export async function countDecided(
  db: Queryable,
  projection: string,
  decidedAt: string,
): Promise<Omit<Answer<'readDecision'>, 'deadAgain'>> {
  const [counts] = await db.$queryRaw<Omit<Answer<'readDecision'>, 'deadAgain'>[]>(sql`
    SELECT count(*) FILTER (WHERE state = 'retry')::int AS retry,
           count(*) FILTER (WHERE state = 'retried')::int AS retried,
           count(*) FILTER (WHERE state = 'dead')::int AS dead,
           count(*) FILTER (WHERE state = 'discarded')::int AS discarded
    FROM dead_letters WHERE projection = ${projection} AND decided_at = ${decidedAt}::timestamptz`)
  return counts ?? { retry: 0, retried: 0, dead: 0, discarded: 0 }
}

/** Reads the most frequent causes of the dead letters of a decision that are dead again. */
export async function readCausesOfDeadAgain(
  db: Queryable,
  projection: string,
  decidedAt: string,
): Promise<Answer<'readDecision'>['deadAgain']> {
  const causes = await db.$queryRaw<Answer<'readDecision'>['deadAgain'][number][]>(sql`
    SELECT reason AS cause, ${CAUSE_ID} AS "causeId", count(*)::int AS count FROM dead_letters
    WHERE projection = ${projection} AND decided_at = ${decidedAt}::timestamptz AND state = 'dead'
    GROUP BY reason ORDER BY count(*) DESC, reason LIMIT ${MAX_CAUSES}`)
  return causes
}

function isSelectedDead(projection: string, selected: DeadLetterSelection): Sql {
  return sql`projection = ${projection} AND state = 'dead' AND ${isSelected(selected)}`
}

function isSelected(selected: DeadLetterSelection): Sql {
  if (selected.by === 'ids') return sql`id = ANY(${selected.ids}::bigint[])`
  if (selected.by === 'records')
    return sql`(topic, partition, "offset") IN (SELECT * FROM ${positions(selected.records)})`
  if (selected.by === 'cause') return sql`reason = ${selected.cause}`
  if (selected.by === 'causeId') return sql`${hasCause(selected.causeId)} AND id <= ${selected.lastId}::bigint`
  return sql`TRUE`
}

import { type Reservation, ReserveVerdict } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import { executeAll } from '@nextvisit/projection'
import { type CounterKey, counterOf } from './counter.ts'

/** A reservation that nobody folded or gave back for so long is dropped. */
export const RESERVATION_LIFETIME_MS = 60_000

/** A unit of a counter: a record's id for an event, a user's id for an active user. */
export interface Unit extends CounterKey {
  readonly unit: string
}

/** Reserves in order, atomically; one verdict a reservation (the SQL function `reserve_room`). */
export async function reserve(db: Db, reservations: readonly Reservation[], at: Date): Promise<ReserveVerdict[]> {
  const questions = reservations.map((asked) => ({
    ...counterOf(asked.kind, asked, asked.month),
    unit: asked.kind === 'event' ? asked.recordId : asked.userId,
    record_id: asked.recordId,
    partition: asked.partition,
    limit: asked.limit,
    dry_run: asked.dryRun === true,
  }))
  const rows = await db.$queryRaw<{ verdict: string }[]>(
    sql`SELECT verdict FROM reserve_room(${JSON.stringify(questions)}::jsonb, ${at.toISOString()}::timestamptz)`,
  )
  return rows.map((row) => ReserveVerdict.parse(row.verdict))
}

/** Gives back what certainly was not published. Records that hold nothing are passed over. */
export async function release(db: Db, recordIds: readonly string[]): Promise<void> {
  const held = sql`holders && ${recordIds}::uuid[]`
  await executeAll(db, [
    lockCountersOf(held),
    lowerPending(sql`
      DELETE FROM reservations WHERE ${held} AND holders <@ ${recordIds}::uuid[] AND NOT may_have_landed`),
    sql`
      UPDATE reservations SET holders = ARRAY(SELECT unnest(holders) EXCEPT SELECT unnest(${recordIds}::uuid[]))
      WHERE ${held}`,
  ])
}

/** Those of these partitions that have reservations of `deadline` and before. */
export async function findUnfolded(db: Db, partitions: readonly number[], deadline: Date): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM reservations WHERE ${unfoldedIn(sql`owned.partition`, deadline)})`)
  return rows.map((row) => row.partition)
}

/** Drops a partition's reservations of `deadline` and before. */
export function dropUnfolded(partition: number, deadline: Date): Statement[] {
  const unfolded = unfoldedIn(sql`${partition}::int`, deadline)
  return [lockCountersOf(unfolded), lowerPending(sql`DELETE FROM reservations WHERE ${unfolded}`)]
}

function unfoldedIn(partition: Statement, deadline: Date): Statement {
  return sql`reservations.partition = ${partition} AND reserved_at <= ${deadline.toISOString()}::timestamptz`
}

/** Adds metered events to their counters, and locks every counter that the batch may touch, in one pass. */
export function countEvents(counters: readonly (CounterKey & { readonly events: number })[]): Statement {
  return sql`
    INSERT INTO counters AS known (organization, project, kind, month, count)
    SELECT * FROM unnest(
      ${counters.map((counter) => counter.organization)}::text[],
      ${counters.map((counter) => counter.project)}::text[],
      ${counters.map((counter) => counter.kind)}::text[],
      ${counters.map((counter) => counter.month)}::text[],
      ${counters.map((counter) => counter.events)}::bigint[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, kind, month) DO UPDATE SET count = known.count + excluded.count`
}

/** Makes users members of their month; those who were not yet raise its counter. */
export function countMembers(users: readonly Unit[]): Statement {
  return sql`
    WITH joined AS (
      INSERT INTO mau_members (organization, project, month, user_id)
      SELECT organization, project, month, unit FROM ${unitsOf(users)} ORDER BY 1, 2, 3, 4
      ON CONFLICT DO NOTHING
      RETURNING organization, project, month
    )
    UPDATE counters SET count = count + more.users
    FROM (SELECT organization, project, month, count(*) AS users FROM joined GROUP BY 1, 2, 3) AS more
    WHERE (counters.organization, counters.project, counters.kind, counters.month)
        = (more.organization, more.project, 'mau', more.month)`
}

/** Deletes the reservations of units that are folded now. */
export function settle(units: readonly Unit[]): Statement {
  return lowerPending(sql`
    DELETE FROM reservations USING ${unitsOf(units)}
    WHERE (reservations.organization, reservations.project, reservations.kind, reservations.month, reservations.unit)
        = (folded.organization, folded.project, folded.kind, folded.month, folded.unit)`)
}

function unitsOf(units: readonly Unit[]): Statement {
  return sql`unnest(
    ${units.map((unit) => unit.organization)}::text[],
    ${units.map((unit) => unit.project)}::text[],
    ${units.map((unit) => unit.kind)}::text[],
    ${units.map((unit) => unit.month)}::text[],
    ${units.map((unit) => unit.unit)}::uuid[]
  ) AS folded (organization, project, kind, month, unit)`
}

/** In key order, as everyone does who touches reservations (see the migration). */
function lockCountersOf(reservations: Statement): Statement {
  return sql`
    SELECT FROM counters
    WHERE (organization, project, kind, month) IN
      (SELECT organization, project, kind, month FROM reservations WHERE ${reservations})
    ORDER BY organization, project, kind, month
    FOR UPDATE`
}

/** Runs a `DELETE FROM reservations …` and takes what it deleted off the counters. */
function lowerPending(deletion: Statement): Statement {
  return sql`
    WITH gone AS (
      ${deletion}
      RETURNING reservations.organization, reservations.project, reservations.kind, reservations.month
    )
    UPDATE counters SET pending = pending - less.units
    FROM (SELECT organization, project, kind, month, count(*) AS units FROM gone GROUP BY 1, 2, 3, 4) AS less
    WHERE (counters.organization, counters.project, counters.kind, counters.month)
        = (less.organization, less.project, less.kind, less.month)`
}

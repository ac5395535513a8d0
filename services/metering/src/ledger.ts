import { type ProjectRef, type Reservation, ReserveVerdict } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import { mauMembers, reservations } from './tables.ts'

/** A reservation that nobody folded or released for so long is dropped. */
export const RESERVATION_LIFETIME_MS = 60_000

/** Names a row of `counters`: the organization's events of a month (`project` is ''), or a project's active users. */
export interface CounterKey extends ProjectRef {
  readonly kind: 'event' | 'mau'
  readonly month: string
}

/** A unit of a counter: a record's id for an event, a user's id for an active user. */
export interface Unit extends CounterKey {
  readonly unit: string
}

/** Whose limits: event tracking is the organization's, active users are each project's own (decisions.md, Track event). */
export function counterOf(kind: CounterKey['kind'], { organization, project }: ProjectRef, month: string): CounterKey {
  return { organization, project: kind === 'event' ? '' : project, kind, month }
}

/** The UTC calendar month of an instant as records carry it: `2026-11`. */
export function monthOf(received: string): string {
  return received.slice(0, 7)
}

/** Reserves in order, atomically; one verdict a reservation (the SQL function `reserve_room`). */
export async function reserve(db: Db, asked: readonly Reservation[], at: Date): Promise<ReserveVerdict[]> {
  const questions = asked.map((reservation) => ({
    ...counterOf(reservation.kind, reservation, reservation.month),
    unit: reservation.kind === 'event' ? reservation.recordId : reservation.userId,
    record_id: reservation.recordId,
    partition: reservation.partition,
    limit: reservation.limit,
    dry_run: reservation.dryRun === true,
  }))
  const rows = await db.$queryRaw<{ verdict: string }[]>(
    sql`SELECT verdict FROM reserve_room(${JSON.stringify(questions)}::jsonb, ${at.toISOString()}::timestamptz)`,
  )
  return rows.map((row) => ReserveVerdict.parse(row.verdict))
}

/** Releases what certainly was not published (the SQL function `release_room`). */
export async function release(db: Db, recordIds: readonly string[]): Promise<void> {
  await db.$executeRaw(sql`SELECT release_room(${recordIds}::uuid[])`)
}

/** The partitions, of those given, that have reservations of `deadline` and before. */
export async function findUnfolded(db: Db, partitions: readonly number[], deadline: Date): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM reservations WHERE ${unfoldedIn(sql`owned.partition`, deadline)})`)
  return rows.map((row) => row.partition)
}

/**
 * Drops a partition's reservations of `deadline` and before. Their counters are locked first, in key order (see the
 * migration); no reservation that old is made in between.
 */
export function dropUnfolded(partition: number, deadline: Date): Statement[] {
  const unfolded = unfoldedIn(sql`${partition}::int`, deadline)
  const lockCounters = sql`
    SELECT FROM counters
    WHERE (organization, project, kind, month) IN
      (SELECT organization, project, kind, month FROM reservations WHERE ${unfolded})
    ORDER BY organization, project, kind, month
    FOR UPDATE`
  return [lockCounters, lowerPending(sql`DELETE FROM reservations WHERE ${unfolded}`)]
}

function unfoldedIn(partition: Statement, deadline: Date): Statement {
  return sql`reservations.partition = ${partition} AND reserved_at <= ${deadline.toISOString()}::timestamptz`
}

/** Makes users members of their month. Users who were not yet raise its counter. */
export function countMembers(users: readonly Unit[]): Statement[] {
  return mauMembers.insertMissing(users.map(({ unit, ...counter }) => ({ ...counter, userId: unit }))).map(
    (insertion) => sql`
      WITH joined AS (${insertion} RETURNING organization, project, month)
      UPDATE counters SET count = count + more.users
      FROM (SELECT organization, project, month, count(*) AS users FROM joined GROUP BY 1, 2, 3) AS more
      WHERE (counters.organization, counters.project, counters.kind, counters.month)
          = (more.organization, more.project, 'mau', more.month)`,
  )
}

/** Deletes the reservations of units that are folded now. */
export function settle(units: readonly Unit[]): Statement[] {
  return reservations.deleteByKeys(units).map(lowerPending)
}

/** Runs a deletion of reservations and takes what it deleted off the counters. */
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

import {
  type CounterKind,
  MONTHLY_LIMITS,
  type ProjectRef,
  type Reservation,
  ReserveVerdict,
} from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { mauMembers, reservations } from './tables.ts'

/** A reservation is dropped if it was neither folded nor released for this time. */
export const RESERVATION_LIFETIME_MS = 60_000

/** Names a counter under a monthly limit. `project` is '' if the projects of the organization share it. */
export interface CounterKey extends ProjectRef {
  readonly kind: CounterKind
  readonly month: string
}

/** A unit that a folded record adds to a counter. */
export interface FoldedUnit extends CounterKey {
  /** Id of the record, or of the user if users count once a month. */
  readonly unit: string
  /** The record's partition. */
  readonly partition: number
}

/** Returns the key of the counter of a project (decisions.md, Track event). */
export function counterOf(kind: CounterKind, { organization, project }: ProjectRef, month: string): CounterKey {
  return { organization, project: MONTHLY_LIMITS[kind].of === 'organization' ? '' : project, kind, month }
}

/** Reserves room in order, atomically. Returns a verdict for each reservation (the SQL function `reserve_room`). */
export async function reserve(db: Db, asked: readonly Reservation[], at: Date): Promise<ReserveVerdict[]> {
  const questions = asked.map((reservation) => ({
    ...counterOf(reservation.kind, reservation, reservation.month),
    unit: reservation.userId ?? reservation.recordId,
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

/** Releases the room of records that are known to be unpublished (the SQL function `release_room`). */
export async function release(db: Db, recordIds: readonly string[]): Promise<void> {
  await db.$executeRaw(sql`SELECT release_room(${recordIds}::uuid[])`)
}

/** Finds the partitions that have reservations of `deadline` or before. */
export async function findUnfolded(db: Db, partitions: readonly number[], deadline: Date): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM reservations WHERE ${unfoldedIn(sql`owned.partition`, deadline)})`)
  return rows.map((row) => row.partition)
}

/**
 * Drops a partition's reservations of `deadline` and before. Locks the rows of their counters in `reserved_room` first, in
 * key order (see the migration). No reservation that old is made in between.
 */
export function dropUnfolded(partition: number, deadline: Date): Sql[] {
  const unfolded = unfoldedIn(sql`${partition}::int`, deadline)
  const lockCounters = sql`
    SELECT FROM reserved_room
    WHERE (organization, project, kind, month) IN
      (SELECT organization, project, kind, month FROM reservations WHERE ${unfolded})
    ORDER BY organization, project, kind, month
    FOR UPDATE`
  const drop = sql`
    WITH gone AS (
      ${reservations.deleteWhere(unfolded)}
      RETURNING reservations.organization, reservations.project, reservations.kind, reservations.month, reservations.units
    )
    UPDATE reserved_room AS room SET units = room.units - less.units
    FROM (SELECT organization, project, kind, month, sum(units) AS units FROM gone GROUP BY 1, 2, 3, 4) AS less
    WHERE (room.organization, room.project, room.kind, room.month)
        = (less.organization, less.project, less.kind, less.month)`
  return [lockCounters, drop]
}

function unfoldedIn(partition: Sql, deadline: Date): Sql {
  return sql`reservations.partition = ${partition} AND reserved_at <= ${deadline.toISOString()}::timestamptz`
}

/** Makes users members of their month, and counts the new members. The rows of their counters exist. */
export function countMembers(users: readonly FoldedUnit[]): Sql[] {
  return mauMembers.insertMissing(users.map(({ unit, ...counter }) => ({ ...counter, userId: unit }))).map(
    (insertion) => sql`
      WITH joined AS (${insertion} RETURNING organization, project, 'mau' AS kind, month, user_id AS unit)
      UPDATE counters SET count = counters.count + more.units FROM ${sumOf(sql`joined`, users)}`,
  )
}

/** Deletes the reservations of folded units. The rows of their counters exist. */
export function fulfil(units: readonly FoldedUnit[]): Sql[] {
  return reservations.deleteByKeys(units).map(
    (deletion) => sql`
      WITH gone AS (
        ${deletion}
        RETURNING reservations.organization, reservations.project, reservations.kind, reservations.month, reservations.unit
      )
      UPDATE counters SET fulfilled = counters.fulfilled + more.units FROM ${sumOf(sql`gone`, units)}`,
  )
}

/** Returns a source `more` with the number of units of each counter in each partition, joined to `counters`. */
function sumOf(table: Sql, units: readonly FoldedUnit[]): Sql {
  const partitionOf = new Map(units.map(({ unit, partition }) => [unit, partition]))
  return sql`(
      SELECT organization, project, kind, month, home.partition, count(*) AS units
      FROM ${table} JOIN unnest(${[...partitionOf.keys()]}::uuid[], ${[...partitionOf.values()]}::int[])
        AS home (unit, partition) USING (unit)
      GROUP BY 1, 2, 3, 4, 5
    ) AS more
    WHERE (counters.organization, counters.project, counters.kind, counters.month, counters.partition)
        = (more.organization, more.project, more.kind, more.month, more.partition)`
}

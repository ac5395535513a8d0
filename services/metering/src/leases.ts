import type { LeaseQuestion, ReturnedUnits } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { type CounterKey, counterOf, type FoldedUnit } from './ledger.ts'
import { reservations } from './tables.ts'

// A lease is a row of `reservations` with several units (decision 0017).

/**
 * Leases room, each question whole or not at all. Returns true for each granted question, in order (the SQL function
 * `lease_room`).
 */
export async function leaseRoom(db: Db, questions: readonly LeaseQuestion[], at: Date): Promise<boolean[]> {
  const asked = questions.map(({ limit, leases, ...of }) => ({ ...eventsOf(of), limit, leases }))
  const rows = await db.$queryRaw<{ is_granted: boolean }[]>(
    sql`SELECT is_granted FROM lease_room(${JSON.stringify(asked)}::jsonb, ${at.toISOString()}::timestamptz)`,
  )
  return rows.map(({ is_granted: isGranted }) => isGranted)
}

/** Frees units of leases that are known to be unused (the SQL function `return_leased`). */
export async function returnLeased(db: Db, returned: readonly ReturnedUnits[]): Promise<void> {
  const returns = returned.map(({ lease, units, ...of }) => ({ ...eventsOf(of), unit: lease, units }))
  await db.$executeRaw(sql`SELECT return_leased(${JSON.stringify(returns)}::jsonb)`)
}

/** Returns the key of the counter of an organization's events in a month. */
function eventsOf({ organization, month }: Pick<LeaseQuestion, 'organization' | 'month'>): CounterKey {
  return counterOf('event', { organization, project: '' }, month)
}

/**
 * Takes the units of folded records off their leases; `unit` names the lease. The rows of the counters exist. Skips a lease
 * that is gone or has fewer units: until a tick there is too little room, never too much.
 *
 * A statement of its own locks the leases first, in key order. The next statement then sees the effects of returns that it
 * waited for. A single statement would skip a lease whose units had changed since it began.
 */
export function fulfilLeased(units: readonly FoldedUnit[]): Sql[] {
  if (units.length === 0) return []
  const ofLeases = [...Map.groupBy(units, ({ unit }) => unit).values()]
  const spent = ofLeases.flatMap((own) => own.slice(0, 1).map((first) => ({ ...first, units: own.length })))
  const isOfLease = sql`(lease.organization, lease.project, lease.kind, lease.month, lease.unit)
    = (spent.organization, spent.project, spent.kind, spent.month, spent.unit)`
  const columns = ['organization', 'project', 'kind', 'month', 'unit', 'partition', 'units'] as const
  const spentOf = reservations.source('spent', spent, columns)
  const lockLeases = sql`
    SELECT FROM reservations AS lease JOIN ${spentOf} ON ${isOfLease}
    ORDER BY lease.organization, lease.project, lease.kind, lease.month, lease.unit
    FOR UPDATE OF lease`
  const take = sql`
    WITH spent AS (SELECT * FROM ${spentOf}),
    used_up AS (
      DELETE FROM reservations AS lease USING spent WHERE ${isOfLease} AND lease.units = spent.units RETURNING spent.*
    ),
    reduced AS (
      UPDATE reservations AS lease SET units = lease.units - spent.units FROM spent
      WHERE ${isOfLease} AND lease.units > spent.units RETURNING spent.*
    )
    UPDATE counters SET fulfilled = counters.fulfilled + more.units
    FROM (
      SELECT organization, project, kind, month, partition, sum(units) AS units
      FROM (SELECT * FROM used_up UNION ALL SELECT * FROM reduced) AS folded
      GROUP BY 1, 2, 3, 4, 5
    ) AS more
    WHERE (counters.organization, counters.project, counters.kind, counters.month, counters.partition)
        = (more.organization, more.project, more.kind, more.month, more.partition)`
  return [lockLeases, take]
}

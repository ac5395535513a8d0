import type { UsageAnswer, UsageQuery } from '@nextvisit/contracts'
import { type Queryable, sql, type Sql } from '@nextvisit/database'
import { type CounterKey, counterOf } from './ledger.ts'

/**
 * Reads a month's counters in the terms of the plan's limits: events of the organization, and the project's other counters.
 * Unique names are those in use up to that month. `disabledTraits` take no room under the cap, and are not counted.
 */
export async function readUsage(
  db: Queryable,
  { organization, project, month }: UsageQuery,
  disabledTraits: ReadonlySet<string>,
): Promise<UsageAnswer> {
  const countOf = (kind: CounterKey['kind']) => sumOf(counterOf(kind, { organization, project }, month))
  const inUse = sql`organization = ${organization} AND project = ${project} AND first_month <= ${month}`
  const rows = await db.$queryRaw<Omit<UsageAnswer, 'month'>[]>(sql`
    SELECT
      ${countOf('event')} AS events,
      ${countOf('mau')} AS "monthlyActiveUsers",
      (SELECT count(*)::float8 FROM unique_names WHERE ${inUse} AND kind = 'event') AS "uniqueEvents",
      (SELECT count(*)::float8 FROM unique_names
       WHERE ${inUse} AND kind = 'trait' AND slug <> ALL(${[...disabledTraits]}::text[])) AS "uniqueTraits"`)
  return { events: 0, monthlyActiveUsers: 0, uniqueEvents: 0, uniqueTraits: 0, ...rows[0], month }
}

/** Returns a subquery for a counter over all partitions. */
function sumOf({ organization, project, kind, month }: CounterKey): Sql {
  return sql`(
    SELECT coalesce(sum(count), 0)::float8 FROM counters
    WHERE organization = ${organization} AND project = ${project} AND kind = ${kind} AND month = ${month})`
}

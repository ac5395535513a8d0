import {
  type CounterKind,
  mapLimits,
  MONTHLY_LIMITS,
  NAME_CAPS,
  type NameKind,
  type ProjectRef,
  type UsageAnswer,
} from '@nextvisit/contracts'
import { join, type Queryable, sql, type Sql } from '@nextvisit/database'
import { type CounterKey, counterOf } from './ledger.ts'

/**
 * Reads a month's counters in the terms of the plan's limits.
 * Unique names are those in use up to that month. `disabledTraits` take no room under the cap, and are not counted.
 */
export async function readUsage(
  db: Queryable,
  { organization, project, month }: ProjectRef & { readonly month: string },
  disabledTraits: ReadonlySet<string>,
): Promise<UsageAnswer> {
  const ofCounters = (Object.keys(MONTHLY_LIMITS) as CounterKind[]).map((kind) =>
    sumOf(MONTHLY_LIMITS[kind].usage, counterOf(kind, { organization, project }, month)),
  )
  const ofNames = (Object.keys(NAME_CAPS) as NameKind[]).map((kind) => {
    const leftOut = kind === 'trait' ? [...disabledTraits] : []
    return sql`
      SELECT ${NAME_CAPS[kind].usage}::text AS usage, count(*)::float8 AS count FROM unique_names
      WHERE organization = ${organization} AND project = ${project} AND kind = ${kind} AND first_month <= ${month}
        AND slug <> ALL(${leftOut}::text[])`
  })
  const rows = await db.$queryRaw<{ usage: string; count: number }[]>(join([...ofCounters, ...ofNames], ' UNION ALL '))
  const counts = new Map(rows.map(({ usage, count }) => [usage, count]))
  return { month, ...mapLimits('usage', ({ usage }) => counts.get(usage) ?? 0) }
}

/** Returns a query for a counter over all partitions. */
function sumOf(usage: string, { organization, project, kind, month }: CounterKey): Sql {
  return sql`
    SELECT ${usage}::text AS usage, coalesce(sum(count), 0)::float8 AS count FROM counters
    WHERE organization = ${organization} AND project = ${project} AND kind = ${kind} AND month = ${month}`
}

import { type Queryable, join, raw, sql, type Sql } from '@nextvisit/database'

/** A row in JSON: instants as ISO text, whole numbers as numbers. */
export type JsonRow = Readonly<Record<string, unknown>>

/**
 * Reads the rows of several queries in one round trip, by the queries' names. Every query may join `asked`, whose values are
 * sent once.
 */
export async function readTogether<Rows extends Readonly<Record<keyof Rows, JsonRow>>>(
  db: Queryable,
  asked: Sql,
  queries: { readonly [Name in keyof Rows & string]: Sql },
): Promise<{ readonly [Name in keyof Rows]: readonly Rows[Name][] }> {
  type Found = { readonly [Name in keyof Rows]: readonly Rows[Name][] }
  const columns = Object.entries<Sql>(queries).map(
    ([name, query]) => sql`(SELECT coalesce(json_agg(found), '[]') FROM (${query}) AS found) AS ${raw(`"${name}"`)}`,
  )
  const [found] = await db.$queryRaw<Found[]>(sql`WITH asked AS (${asked}) SELECT ${join(columns)}`)
  if (!found) throw new Error('Postgres returned no row for a query without FROM')
  return found
}

import { type Db, sql } from '@nextvisit/database'

/**
 * How many rows of these tables Postgres reads while `work` runs, by scans and through indexes: a measure of a plan that
 * does not depend on the machine. Each `db` must have one connection only, and `work` must use no other: Postgres counts by
 * connection, and the connections are made to report their counts before they are read.
 */
export async function countRowsRead(
  db: Db | readonly [Db, Db],
  tables: readonly string[],
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await rowsRead(db, tables)
  await work()
  return (await rowsRead(db, tables)) - before
}

async function rowsRead(db: Db | readonly [Db, Db], tables: readonly string[]): Promise<number> {
  const dbs: readonly [Db, ...Db[]] = '$queryRaw' in db ? [db] : db
  for (const one of dbs) await one.$queryRaw(sql`SELECT pg_stat_force_next_flush()::text`)
  const [counted] = await dbs[0].$queryRaw<{ rows: number }[]>(sql`
    SELECT (
      (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema AND relname = ANY(${tables}))
      + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = current_schema AND relname = ANY(${tables}))
    )::int AS rows`)
  if (!counted) throw new Error('Postgres answered no counts.')
  return counted.rows
}

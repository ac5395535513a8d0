import { type Db, sql } from '@nextvisit/database'

/**
 * Counts the rows of these tables that Postgres reads while `work` runs, by scans and through indexes. The count measures
 * a plan independently of the machine. Each `db` must have a single connection, and `work` must use no other: Postgres
 * counts by connection, and the function flushes the counts of these connections.
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

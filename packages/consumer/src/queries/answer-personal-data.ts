import type { personalDataCalls, RowPlace, UserRow, UserRowsAnswer, UserRowsQuery } from '@nextvisit/contracts'
import { empty, join, type Queryable, raw, sql } from '@nextvisit/database'
import type { Handlers } from '@nextvisit/service-kit'
import { type Barrier, catchUp, READ_BARRIER_WITHIN_MS, staleUnless } from './barrier.ts'

/** Ends a page. With one more row, which is at most a user's traits, an answer stays below the 8 MiB of a call. */
const MAX_PAGE_BYTES = 4 * 2 ** 20

/** Answers calls about everything that a consumer stores about one user. */
export function answerPersonalData({
  readDb,
  ...parts
}: {
  readonly readDb: Queryable
  readonly barrier: Barrier
  readonly countKeyPartitions: () => Promise<number>
}): Handlers<typeof personalDataCalls> {
  return {
    readUserRows: async (query, context) => {
      // Later pages follow the first within a moment.
      const isCaughtUp =
        query.after !== undefined || (await catchUp(query, { ...parts, ...context, withinMs: READ_BARRIER_WITHIN_MS }))
      return { ...(await readUserRows(readDb, query)), ...staleUnless(isCaughtUp) }
    },
  }
}

/** A table with rows of users. Names are quoted where SQL wants it. */
interface UserTable {
  readonly table: string
  readonly name: string
  /** Columns of the primary key without organization, project and user_id, with their types. */
  readonly key: readonly { readonly column: string; readonly type: string }[]
}

interface FoundRow {
  /** JSON. */
  readonly row: string
  readonly key: readonly string[]
}

type User = Pick<UserRowsQuery, 'organization' | 'project' | 'userId'>

/** Reads a page of the rows of one user, of all tables. */
export async function readUserRows(
  db: Queryable,
  { after, limit, ...user }: UserRowsQuery,
): Promise<Pick<UserRowsAnswer, 'rows' | 'next'>> {
  const rows: UserRow[] = []
  let [bytes, last] = [0, null as RowPlace | null]
  for (const table of await readUserTables(db)) {
    if (after && table.table < after.table) continue
    const from = after?.table === table.table ? after.key : undefined
    for (const { row, key } of await readRowsOf(db, table, user, { from, limit: limit - rows.length + 1 })) {
      if (rows.length === limit || bytes > MAX_PAGE_BYTES) return { rows, next: last }
      rows.push({ table: table.table, row: JSON.parse(row) as UserRow['row'] })
      bytes += Buffer.byteLength(row)
      last = { table: table.table, key: [...key] }
    }
  }
  return { rows, next: null }
}

/** Finds the tables by their columns, so that a new table is never forgotten. */
function readUserTables(db: Queryable): Promise<readonly UserTable[]> {
  return db.$queryRaw<UserTable[]>(sql`
    SELECT c.relname::text AS "table", quote_ident(c.relname) AS name, coalesce((
      SELECT json_agg(json_build_object(
        'column', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY k.nth)
      FROM pg_index AS i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, nth), pg_attribute AS a
      WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.attnum
        AND a.attname NOT IN ('organization', 'project', 'user_id')
    ), '[]') AS key
    FROM pg_class AS c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND 3 = (
      SELECT count(*) FROM pg_attribute AS a
      WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN ('organization', 'project', 'user_id'))
    ORDER BY c.relname`)
}

/** Reads rows of a table in the order of its key, after the row with the key `from`. */
function readRowsOf(
  db: Queryable,
  { name, key }: UserTable,
  { organization, project, userId }: User,
  { from, limit }: { readonly from: RowPlace['key'] | undefined; readonly limit: number },
): Promise<readonly FoundRow[]> {
  const columns = key.map(({ column }) => raw(`own.${column}`))
  const texts = columns.map((column) => sql`${column}::text`)
  const values = key.map(({ type }, nth) => sql`${from?.[nth] ?? ''}::text::${raw(type)}`)
  // Without a key, the user has one row.
  const isAfter = !from ? sql`TRUE` : key.length === 0 ? sql`FALSE` : sql`(${join(columns)}) > (${join(values)})`
  return db.$queryRaw<FoundRow[]>(sql`
    SELECT row_to_json(own)::text AS row, ARRAY[${texts.length > 0 ? join(texts) : empty}]::text[] AS key
    FROM ${raw(name)} AS own
    WHERE (own.organization, own.project, own.user_id) = (${organization}, ${project}, ${userId}::uuid) AND ${isAfter}
    ${columns.length > 0 ? sql`ORDER BY ${join(columns)}` : empty} LIMIT ${limit}`)
}

import type { Client } from '@nextvisit/database'
import { comparedRows, type TableSources } from '@nextvisit/consumer'

/** Differences of a table between the live schema and the rebuilt one. */
export interface TableComparison {
  readonly table: string
  readonly liveRows: number
  readonly rebuiltRows: number
  /** Number of rows without an equal row in the other schema. A row that differs in a column counts in both. */
  readonly onlyLive: number
  readonly onlyRebuilt: number
  /** Examples of those rows: their keys, and the differing columns. No values. */
  readonly examples: readonly Difference[]
}

interface Difference {
  /** The primary key, such as `organization=acme, project=shop`. */
  readonly key: string
  readonly kind: 'only live' | 'only rebuilt' | 'differs'
  readonly columns: readonly string[]
}

export interface Schemas {
  readonly live: string
  readonly rebuilt: string
}

const EXAMPLES = 20
/** Postgres' OID of the type json. */
const JSON_TYPE = 114

/** Compares the folded rows in one snapshot: `client` is in a REPEATABLE READ transaction. */
export async function compareTables(
  client: Client,
  schemas: Schemas,
  tableSources: TableSources,
): Promise<readonly TableComparison[]> {
  const comparisons: TableComparison[] = []
  for (const [table, source] of Object.entries(tableSources)) {
    if (source === 'carried') continue
    const { fields } = await client.query(`SELECT * FROM ${schemas.live}.${table} LIMIT 0`)
    const names = fields.map(({ name }) => name)
    const foldedRows = (schema: string): string => comparedRows(`${schema}.${table}`, names, source)
    const columns = await comparableColumns(client, foldedRows(schemas.live))
    const rowsOf = (schema: string): string => `SELECT ${columns} FROM (${foldedRows(schema)}) AS given`
    comparisons.push(await compareRows(client, table, schemas, rowsOf))
  }
  return comparisons
}

export function isEqual(comparisons: readonly TableComparison[]): boolean {
  return comparisons.every(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt === 0)
}

/** Returns the select list of a query's columns, with json as jsonb, because Postgres does not compare json. */
async function comparableColumns(client: Client, rows: string): Promise<string> {
  const { fields } = await client.query(`SELECT * FROM (${rows}) AS given LIMIT 0`)
  return fields.map(({ name, dataTypeID }) => `"${name}"${dataTypeID === JSON_TYPE ? '::jsonb' : ''}`).join(', ')
}

async function compareRows(
  client: Client,
  table: string,
  { live, rebuilt }: Schemas,
  rowsOf: (schema: string) => string,
): Promise<TableComparison> {
  const onlyLive = `(${rowsOf(live)}) EXCEPT ALL (${rowsOf(rebuilt)})`
  const onlyRebuilt = `(${rowsOf(rebuilt)}) EXCEPT ALL (${rowsOf(live)})`
  const countOf = async (rows: string): Promise<number> => {
    const result = await client.query<{ count: string }>(`SELECT count(*) FROM (${rows}) AS counted`)
    return Number(result.rows[0]?.count)
  }
  const counts = {
    liveRows: await countOf(rowsOf(live)),
    rebuiltRows: await countOf(rowsOf(rebuilt)),
    onlyLive: await countOf(onlyLive),
    onlyRebuilt: await countOf(onlyRebuilt),
  }
  if (counts.onlyLive + counts.onlyRebuilt === 0) return { table, ...counts, examples: [] }
  const keys = await readPrimaryKey(client, live, table)
  const { rows } = await client.query<Difference>(`
    SELECT concat_ws(', ', ${keys.map((key) => `'${key}=' || ${key}`).join(', ')}) AS key,
           CASE WHEN r IS NULL THEN 'only live' WHEN l IS NULL THEN 'only rebuilt' ELSE 'differs' END AS kind,
           ARRAY(
             SELECT a.key FROM jsonb_each(l) AS a JOIN jsonb_each(r) AS b USING (key)
             WHERE a.value IS DISTINCT FROM b.value ORDER BY a.key
           ) AS columns
    FROM (SELECT to_jsonb(given) AS l, ${keys.join(', ')} FROM (${onlyLive}) AS given) AS lives
    FULL JOIN (SELECT to_jsonb(given) AS r, ${keys.join(', ')} FROM (${onlyRebuilt}) AS given) AS rebuilds
      USING (${keys.join(', ')})
    ORDER BY 1 LIMIT ${EXAMPLES}`)
  return { table, ...counts, examples: rows }
}

/** Reads the columns of a table's primary key. */
export async function readPrimaryKey(client: Client, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ column: string }>(
    `SELECT quote_ident(attname) AS column FROM pg_index
     JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
     WHERE indrelid = $1::regclass AND indisprimary ORDER BY array_position(indkey::int2[], attnum)`,
    [`${schema}.${table}`],
  )
  return rows.map(({ column }) => column)
}

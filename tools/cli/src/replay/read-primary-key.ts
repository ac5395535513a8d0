import type { Client } from '@nextvisit/database'

/** The columns of a table's primary key. */
export async function readPrimaryKey(client: Client, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ column: string }>(
    `SELECT quote_ident(attname) AS column FROM pg_index
     JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
     WHERE indrelid = $1::regclass AND indisprimary ORDER BY array_position(indkey::int2[], attnum)`,
    [`${schema}.${table}`],
  )
  return rows.map(({ column }) => column)
}

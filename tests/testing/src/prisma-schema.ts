import { sqlTypeOf } from '@nextvisit/database/generator'
import { modelsOf } from '@nextvisit/database/generator/testing'
import type { Client } from 'pg'

/** The description of a table, with types in Postgres' spelling, for example `timestamp(3) with time zone`. */
interface DescribedTable {
  readonly columns: Readonly<Record<string, DescribedColumn>>
  /** Columns of the primary key, in its order. */
  readonly primaryKey: readonly string[]
}

interface DescribedColumn {
  readonly type: string
  readonly isNullable: boolean
  readonly hasDefault: boolean
}

type PrismaModel = ReturnType<typeof modelsOf>[number]

type DescribedTables = Readonly<Record<string, DescribedTable>>

/** Returns the tables that the models of a `schema.prisma` describe. Throws for a type that `defineTable` does not know. */
export function tablesOfPrismaSchema(text: string): DescribedTables {
  return Object.fromEntries(modelsOf(text).map((model) => [model.dbName ?? model.name, describedTable(model)]))
}

function describedTable({ fields, primaryKey }: PrismaModel): DescribedTable {
  const columnOf = new Map(fields.map(({ name, dbName }) => [name, dbName ?? name]))
  const key = primaryKey?.fields ?? fields.filter(({ isId }) => isId).map(({ name }) => name)
  return {
    columns: Object.fromEntries(
      fields.map((field) => [
        field.dbName ?? field.name,
        {
          type: sqlTypeOf(field).replace(/^\w+/, nameInPostgres),
          isNullable: !field.isRequired,
          hasDefault: field.hasDefaultValue,
        },
      ]),
    ),
    primaryKey: key.map((property) => columnOf.get(property) ?? property),
  }
}

/** Returns Postgres' spelling of a type in a statement. */
function nameInPostgres(type: string): string {
  if (type === 'int') return 'integer'
  return type === 'timestamptz' ? 'timestamp(3) with time zone' : type
}

/** Reads the tables of a schema from Postgres. */
export async function readTables(client: Client, schema: string): Promise<DescribedTables> {
  const { rows } = await client.query<DescribedColumn & { table: string; column: string; keyPosition: number | null }>(
    `SELECT relname AS "table", attname AS "column", format_type(atttypid, atttypmod) AS type,
            NOT attnotnull AS "isNullable", atthasdef AS "hasDefault",
            array_position(indkey::int2[], attnum) AS "keyPosition"
     FROM pg_class
     JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
     LEFT JOIN pg_index ON indrelid = pg_class.oid AND indisprimary
     WHERE relnamespace = $1::regnamespace AND relkind = 'r'
     ORDER BY array_position(indkey::int2[], attnum), attnum`,
    [schema],
  )
  const tables: Record<string, { columns: Record<string, DescribedColumn>; primaryKey: string[] }> = {}
  for (const { table: name, column, keyPosition, ...described } of rows) {
    const table = (tables[name] ??= { columns: {}, primaryKey: [] })
    table.columns[column] = described
    if (keyPosition !== null) table.primaryKey.push(column)
  }
  return tables
}

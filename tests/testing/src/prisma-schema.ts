import type { Client } from 'pg'

/** A table as somebody describes it. Types are as Postgres writes them: `timestamp(3) with time zone`. */
export interface DescribedTable {
  readonly columns: Readonly<Record<string, DescribedColumn>>
  /** In its order. */
  readonly primaryKey: readonly string[]
}

export interface DescribedColumn {
  readonly type: string
  readonly isNullable: boolean
  readonly hasDefault: boolean
}

export type DescribedTables = Readonly<Record<string, DescribedTable>>

/** The tables that the models of a `schema.prisma` describe. Throws on a type that it does not know. */
export function tablesOfPrismaSchema(text: string): DescribedTables {
  const models = text.matchAll(/^model (?<name>\w+) \{\n(?<body>[\s\S]*?)^\}/gm)
  return Object.fromEntries(Array.from(models, ({ groups }) => tableOf(groups?.['name'] ?? '', groups?.['body'] ?? '')))
}

function tableOf(model: string, body: string): [string, DescribedTable] {
  const lines = body.split('\n').map((line) => line.trim())
  const fields = lines.filter((line) => /^\w/.test(line)).map(fieldOf)
  const columnOf = new Map(fields.map(({ property, column }) => [property, column]))
  const compositeKey = /@@id\(\[(?<list>[^\]]+)\]/.exec(body)?.groups?.['list']?.split(/,\s*/)
  const key = compositeKey ?? fields.filter(({ isId }) => isId).map(({ property }) => property)
  const table = /@@map\("(?<table>\w+)"\)/.exec(body)?.groups?.['table'] ?? model
  return [
    table,
    {
      columns: Object.fromEntries(fields.map(({ column, described }) => [column, described])),
      primaryKey: key.map((property) => columnOf.get(property) ?? property),
    },
  ]
}

const FIELD = /^(?<property>\w+)\s+(?<scalar>\w+)(?<suffix>\?|\[\])?(?<attributes>.*)$/

function fieldOf(line: string) {
  const { property = '', scalar = '', suffix, attributes = '' } = FIELD.exec(line)?.groups ?? {}
  const native = / @db\.(?<native>\w+(\(\d+\))?)/.exec(attributes)?.groups?.['native']
  const type = POSTGRES_TYPES.get(native ? `${scalar} @db.${native}` : scalar)
  if (type === undefined) throw new Error(`"${line}" has a type that this reader of schema.prisma does not know.`)
  return {
    property,
    column: / @map\("(?<column>\w+)"\)/.exec(attributes)?.groups?.['column'] ?? property,
    isId: / @id\b/.test(attributes),
    described: {
      type: suffix === '[]' ? `${type}[]` : type,
      isNullable: suffix === '?',
      hasDefault: attributes.includes(' @default('),
    },
  }
}

const POSTGRES_TYPES: ReadonlyMap<string, string> = new Map([
  ['String', 'text'],
  ['String @db.Uuid', 'uuid'],
  ['Boolean', 'boolean'],
  ['Int', 'integer'],
  ['BigInt', 'bigint'],
  ['Json', 'jsonb'],
  ['Json @db.Json', 'json'],
  ['DateTime @db.Timestamptz(3)', 'timestamp(3) with time zone'],
])

/** The tables of a schema as Postgres has them. */
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

import type { Field, Model } from '@prisma/dmmf'
import { columnNameOf, type SqlType } from './column-types.ts'

/**
 * Returns the text of `generated/tables.ts`: for each model, by its name, the arguments of `defineTable`. The compiler
 * compares the columns with Prisma's own types of the model. Throws for a type that it does not know, and for a column
 * that is not named after its property.
 */
export function describeTables(models: readonly Model[]): string {
  return [
    '// Made from prisma/schema.prisma by `pnpm generate`.',
    `import type { ColumnsOf } from '@nextvisit/database'`,
    `import type * as prisma from './prisma/client.ts'`,
    ...models.map(describeTable),
    '',
  ].join('\n')
}

function describeTable({ name, dbName, fields, primaryKey }: Model): string {
  const columns = fields.map((field) => `    ${field.name}: '${columnTypeOf(field)}',\n`)
  const key = primaryKey?.fields ?? fields.filter(({ isId }) => isId).map((field) => field.name)
  const table = dbName ?? name
  return `
/** The table \`${table}\`: its name, its columns and its key. */
export const ${name} = [
  '${table}',
  {
${columns.join('')}  } satisfies ColumnsOf<prisma.${name}>,
  [${key.map((property) => `'${property}'`).join(', ')}],
] as const`
}

function columnTypeOf(field: Field): string {
  const { name, dbName, isRequired } = field
  const column = columnNameOf(name)
  if ((dbName ?? name) !== column) throw new Error(`The column of ${name} must be ${column}.`)
  return `${sqlTypeOf(field)}${isRequired ? '' : '?'}`
}

/** Returns the type of a column in Postgres. Throws for a type that `defineTable` does not know. */
export function sqlTypeOf({ name, type, nativeType, isList }: Field): SqlType {
  const [native, parameters = []] = nativeType ?? []
  const suffix = parameters.length > 0 ? `(${parameters.join()})` : ''
  const attribute = native ? ` @db.${native}${suffix}` : ''
  const written = `${type}${isList ? '[]' : ''}${attribute}`
  const known = TYPES.get(written)
  if (!known) throw new Error(`${name} has the type ${written}, which defineTable does not know.`)
  return known
}

const TYPES: ReadonlyMap<string, SqlType> = new Map([
  ['String', 'text'],
  ['String[]', 'text[]'],
  ['String @db.Uuid', 'uuid'],
  ['String[] @db.Uuid', 'uuid[]'],
  ['Boolean', 'boolean'],
  ['Int', 'int'],
  ['BigInt', 'bigint'],
  ['BigInt[]', 'bigint[]'],
  ['Json', 'jsonb'],
  ['Json @db.Json', 'json'],
  ['DateTime @db.Timestamptz(3)', 'timestamptz'],
])

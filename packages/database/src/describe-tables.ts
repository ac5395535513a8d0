import { type Model, readModels } from './read-models.ts'

/**
 * A module with what `defineTable` must know of each model of a `schema.prisma`, by the model's name. The compiler compares
 * its columns with Prisma's own reading of the model.
 */
export function describeTables(schema: string): string {
  return [
    '// Made from prisma/schema.prisma by `pnpm generate`.',
    `import type { ColumnsOf } from '@nextvisit/database'`,
    `import type * as prisma from './prisma/client.ts'`,
    ...readModels(schema).map(describeTable),
    '',
  ].join('\n')
}

function describeTable({ name, table, fields, key }: Model): string {
  const columns = fields.map(
    ({ property, type, isNullable }) => `    ${property}: '${type}${isNullable ? '?' : ''}',\n`,
  )
  return `
/** The table \`${table}\`: its name, its columns and its key. */
export const ${name} = [
  '${table}',
  {
${columns.join('')}  } satisfies ColumnsOf<prisma.${name}>,
  [${key.map((property) => `'${property}'`).join(', ')}],
] as const`
}

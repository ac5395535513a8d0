import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Sample } from '../../generated/tables.ts'
import { defineTable } from './define-table.ts'
import { describeTables } from './describe-tables.ts'
import { modelsOf } from '../../test/models-of.ts'

const DATASOURCE = 'datasource db {\n  provider = "postgresql"\n}'

describe('the tables of a schema.prisma', () => {
  it('have the columns and the key of their models', () => {
    expect(Sample).toEqual([
      'samples',
      {
        organization: 'text',
        userId: 'uuid',
        traits: 'jsonb',
        note: 'text?',
        total: 'bigint',
        revision: 'int',
        isKnown: 'boolean',
        firstAt: 'timestamptz',
        lastAt: 'timestamptz?',
        latestMs: 'bigint[]',
        labels: 'text[]',
      },
      ['organization', 'userId'],
    ])
  })

  it('are written to generated/tables.ts', async () => {
    const [schema, tables] = await Promise.all(
      ['prisma/schema.prisma', 'generated/tables.ts'].map((file) =>
        readFile(path.resolve(import.meta.dirname, '../..', file), 'utf8'),
      ),
    )
    expect(tables, 'run `npx -y pnpm generate`').toBe(describeTables(modelsOf(schema ?? '')))
  })

  it('are refused if a column is not named after its property', () => {
    expect(() => describeTables(modelsOf(`${DATASOURCE}\nmodel Thing {\n  userId String @id @map("user")\n}`))).toThrow(
      /user_id/,
    )
  })

  it('are the arguments of defineTable', () => {
    const samples = defineTable(...Sample, { total: 'add' })
    expect(
      samples.deleteByKeys([{ organization: 'acme', userId: '00000000-0000-4000-8000-00000000000a' }]),
    ).toHaveLength(1)
    // @ts-expect-error Not a column.
    defineTable(...Sample, { sum: 'add' })
  })

  it('are refused if a type is unknown', () => {
    expect(() => describeTables(modelsOf(`${DATASOURCE}\nmodel Thing {\n  at DateTime @id\n}`))).toThrow(
      /does not know/,
    )
  })
})

import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { withClient } from '@nextvisit/database'
import { describeTables } from '@nextvisit/database/generator'
import { modelsOf } from '@nextvisit/database/generator/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { readTables, tablesOfPrismaSchema } from './prisma-schema.ts'
import { createTestDatabase } from './test-database.ts'

const services = path.join(import.meta.dirname, '../../../services')
const consumers = readdirSync(services).filter((name) => existsSync(path.join(services, name, 'src/consumer.ts')))

describe('schema.prisma', () => {
  it('is looked for in every consumer', () => expect(consumers).not.toHaveLength(0))

  it.each(consumers)('is the source of generated/tables.ts of %s', async (service) => {
    const [schema, tables] = await Promise.all(
      ['prisma/schema.prisma', 'generated/tables.ts'].map((file) =>
        readFile(path.join(services, service, file), 'utf8'),
      ),
    )
    expect(tables, 'run `npx -y pnpm generate`').toBe(describeTables(modelsOf(schema ?? '')))
  })

  it.each(consumers)('describes the tables that the migrations of %s create', async (service) => {
    const text = await readFile(path.join(services, service, 'prisma/schema.prisma'), 'utf8')
    const migrations = [{ directory: path.join(services, service, 'prisma/migrations'), table: '_prisma_migrations' }]
    const database = await createTestDatabase(inject('databaseUrl'), { schema: 'own', migrations })
    onTestFinished(database.drop)
    const tables = await withClient(database.url, (client) => readTables(client, 'own'))
    const { _prisma_migrations: _, ...own } = tables
    expect(tablesOfPrismaSchema(text)).toEqual(own)
  })
})

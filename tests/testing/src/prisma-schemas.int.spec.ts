import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { withClient } from '@nextvisit/database'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { readTables, tablesOfPrismaSchema } from './prisma-schema.ts'
import { createTestDatabase } from './test-database.ts'

const services = path.join(import.meta.dirname, '../../../services')
const withSchema = readdirSync(services).filter((name) => existsSync(path.join(services, name, 'prisma/schema.prisma')))

describe('schema.prisma', () => {
  it('is there for every consumer', () => expect(withSchema).toHaveLength(4))

  it.each(withSchema)('describes the tables that the migrations of %s create', async (service) => {
    const text = await readFile(path.join(services, service, 'prisma/schema.prisma'), 'utf8')
    const migrations = [{ directory: path.join(services, service, 'prisma/migrations'), table: '_prisma_migrations' }]
    const database = await createTestDatabase(inject('databaseUrl'), { schema: 'own', migrations })
    onTestFinished(database.drop)
    const tables = await withClient(database.url, (client) => readTables(client, 'own'))
    const { _prisma_migrations: _, ...own } = tables
    expect(tablesOfPrismaSchema(text)).toEqual(own)
  })
})

import { createAdapter } from '@nextvisit/database'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, inject } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { traitRegistry } from '../src/consumer.ts'

/** The registry's tables for the tests of a file. */
export function givenRegistry(pool: { readonly maxConnections?: number } = {}) {
  let database: TestDatabase
  let prisma: PrismaClient
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), traitRegistry)
    const adapter = createAdapter({ url: database.url, schema: 'registry', applicationName: 'spec', ...pool })
    prisma = new PrismaClient({ adapter })
  })
  afterAll(async () => {
    await prisma?.$disconnect()
    await database?.drop()
  })
  return {
    get prisma() {
      return prisma
    },
  }
}

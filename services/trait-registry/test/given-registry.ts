import { type CommitDb, createAdapter, openCommitDb } from '@nextvisit/database'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, inject } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { traitRegistry } from '../src/consumer.ts'

/** The registry's tables for the tests of a file. */
export function givenRegistry(pool: { readonly maxConnections?: number } = {}) {
  let database: TestDatabase
  let prisma: PrismaClient
  let db: CommitDb
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), traitRegistry)
    const options = { url: database.url, schema: 'registry', applicationName: 'spec' }
    prisma = new PrismaClient({ adapter: createAdapter({ ...options, ...pool }) })
    db = openCommitDb(options)
  })
  afterAll(async () => {
    await db?.$disconnect()
    await prisma?.$disconnect()
    await database?.drop()
  })
  return {
    get prisma() {
      return prisma
    },
    get db() {
      return db
    },
  }
}

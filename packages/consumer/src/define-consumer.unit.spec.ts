import { expect, it } from 'vitest'
import { defineConsumer } from './define-consumer.ts'

const consumer = defineConsumer({
  name: 'two-words',
  directory: '/services/two-words',
  version: '1.0.0',
  schema: 'words',
  openDb: () => Promise.reject(new Error('opened')),
  projection: () => {
    throw new Error('created')
  },
  tables: {},
  routes: () => [],
})

it('derives from its names what commands and other services know it by', () => {
  expect(consumer).toMatchObject({
    role: 'nextvisit_words',
    databaseVariable: 'TWO_WORDS_DATABASE_URL',
    addressesVariable: 'TWO_WORDS_URLS',
  })
})

it("applies the core's migrations before its own", () => {
  expect(consumer.migrations).toMatchObject([
    { table: '_core_migrations' },
    { table: '_prisma_migrations', directory: '/services/two-words/prisma/migrations' },
  ])
})

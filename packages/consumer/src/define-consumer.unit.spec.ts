import { expect, it } from 'vitest'
import { defineConsumer, offlineParts } from './define-consumer.ts'

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

it('derives its role and its variables from its names', () => {
  expect(consumer).toMatchObject({
    role: 'nextvisit_words',
    databaseVariable: 'TWO_WORDS_DATABASE_URL',
    addressesVariable: 'TWO_WORDS_URLS',
  })
})

it('shares a memory between its projection and its routes, and creates one where none is given', () => {
  const seen: object[] = []
  const counting = defineConsumer({
    name: 'counting',
    directory: '/services/counting',
    version: '1.0.0',
    schema: 'counts',
    openDb: () => Promise.reject(new Error('opened')),
    memory: () => ({}),
    projection: (_, memory) => {
      seen.push(memory)
      throw new Error('created')
    },
    tables: {},
    routes: (_, memory) => {
      seen.push(memory)
      return []
    },
  })
  const shared = counting.memory?.()
  const parts = {} as Parameters<typeof counting.routes>[0]
  expect(() =>
    counting.projection(
      offlineParts(() => Promise.resolve(1)),
      shared,
    ),
  ).toThrow('created')
  counting.routes(parts, shared)
  counting.routes(parts)
  expect(seen.map((memory) => memory === shared)).toEqual([true, true, false])
})

it("applies the core's migrations before its own", () => {
  expect(consumer.migrations).toMatchObject([
    { table: '_core_migrations' },
    { table: '_prisma_migrations', directory: '/services/two-words/prisma/migrations' },
  ])
})

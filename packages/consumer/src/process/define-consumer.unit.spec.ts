import type { UsageAnswer } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { defineConsumer, type HandlerParts } from './define-consumer.ts'

const description = {
  directory: '/services/two-words',
  version: '1.0.0',
  schema: 'words',
  openDb: () => Promise.reject(new Error('opened')),
  projection: () => {
    throw new Error('created')
  },
  tables: {},
}
const consumer = defineConsumer({ ...description, name: 'two-words', calls: {} })

const usage: UsageAnswer = { month: '2026-11', events: 1, monthlyActiveUsers: 0, uniqueEvents: 0, uniqueTraits: 0 }
const own = {
  reserve: async () => ({ answers: [] }),
  release: async () => ({ answers: [] }),
  lease: async () => ({ answers: [] }),
  returnLeased: async () => ({ answers: [] }),
}

/** Never runs: the compiler checks it. */
export function doesNotCompile(): void {
  const named = { ...description, name: 'metering' } as const
  // @ts-expect-error the definition has no handlers
  defineConsumer({ ...named })
  // @ts-expect-error no call of the service has a handler
  defineConsumer({ ...named, calls: {} })
  // @ts-expect-error a call has no handler
  defineConsumer({ ...named, calls: own })
  defineConsumer({
    ...named,
    // @ts-expect-error a handler has no call
    calls: { ...own, readUsage: async () => usage, readCosts: async () => usage },
  })
  // @ts-expect-error the answer has another shape
  defineConsumer({ ...named, calls: { ...own, readUsage: async () => ({ month: '2026-11' }) } })
  // @ts-expect-error the service has no calls
  defineConsumer({ ...description, name: 'two-words', calls: { readUsage: async () => usage } })
}

describe('a definition of a consumer', () => {
  it('derives its role and its variables from its names', () => {
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

  it('gives its handlers the parts of the process', async () => {
    const metering = defineConsumer({
      ...description,
      name: 'metering',
      calls: { ...own, readUsage: async ({ month }, parts) => ({ ...usage, month, events: parts.now().getTime() }) },
    })
    const route = metering
      .routes({ now: () => new Date(7) } as HandlerParts)
      .find(({ path }) => path === '/internal/usage/read')
    const context = { signal: new AbortController().signal, deadlineAt: 0 }
    expect(await route?.handle({ month: '2026-12' }, context)).toEqual({ ...usage, month: '2026-12', events: 7 })
  })

  it('has no routes where its service has no calls', () => {
    expect(consumer.routes({} as HandlerParts)).toEqual([])
  })
})

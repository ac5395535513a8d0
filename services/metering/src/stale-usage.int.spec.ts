import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { HandlerParts } from '@nextvisit/consumer'
import { meteringCalls } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { givenLedger, newPlace, NOW } from '../test/given-ledger.ts'
import { metering } from './consumer.ts'

const ledger = givenLedger()

async function readUsage(barrier: HandlerParts['barrier']): Promise<unknown> {
  const parts = { db: ledger.prisma, readDb: ledger.prisma, catalog: staticCatalog([]), now: () => NOW, barrier }
  const routes = metering.routes({ ...parts, fetchNow: () => undefined, countKeyPartitions: async () => 1 })
  const route = routes.find(({ path }) => path === meteringCalls.readUsage.path)
  const context = { signal: new AbortController().signal, deadlineAt: performance.now() + 10_000 }
  return route?.handle({ ...newPlace(), month: '2026-11' }, context)
}

it('usage that may lack the latest records says so', async () => {
  expect(await readUsage(() => Promise.reject(new Error('Kafka does not answer')))).toMatchObject({ stale: true })
  const current = await readUsage(() => Promise.resolve())
  expect(current).toMatchObject({ events: 0 })
  expect(current).not.toHaveProperty('stale')
})

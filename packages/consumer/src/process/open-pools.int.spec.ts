import { type Db, sql } from '@nextvisit/database'
import { createMetrics } from '@nextvisit/service-kit'
import { givenScrape } from '@nextvisit/service-kit/test/given-scrape.ts'
import { createTestDatabase } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { visitsConsumer } from '../../test/visits-consumer.ts'
import { openPools } from './open-pools.ts'

const SOON = { timeout: 30_000 }
const NONE = { busy: 0, waiting: 0 }

async function givenPools() {
  const consumer = visitsConsumer()
  const database = await createTestDatabase(inject('databaseUrl'), consumer)
  const metrics = createMetrics('spec')
  const pools = await openPools(consumer, { databaseUrl: database.url, clientId: 'spec', metrics })
  onTestFinished(async () => {
    await Promise.all(Object.values(pools).map((db: Db) => db.$disconnect()))
    await database.drop()
  })
  return { pools, scrape: await givenScrape(metrics) }
}

/** Runs eight statements at a time until the test ends, each shorter than any pool's limit. */
function keepBusy(db: Db): void {
  const over = new AbortController()
  const repeat = async (): Promise<void> => {
    while (!over.signal.aborted) await db.$executeRaw(sql`SELECT pg_sleep(0.5)`)
  }
  const repeated = Promise.all(Array.from({ length: 8 }, repeat))
  onTestFinished(async () => {
    over.abort()
    await repeated
  })
}

describe('the scraped connections of a consumer (operate.md, Connections to Postgres)', () => {
  it.each([
    ['folds', 'foldDb', 1],
    ['upkeep', 'upkeepDb', 4],
    ['admission', 'admissionDb', 4],
    ['reads', 'readDb', 3],
  ] as const)('are idle in the other pools when all of the pool %s are busy', async (busy, own, connections) => {
    const { pools, scrape } = await givenPools()
    const others = Object.values(pools).filter((db: Db) => db !== pools[own])
    const answerOthers = () => Promise.all(others.map((db: Db) => db.$queryRaw(sql`SELECT 1`)))
    await answerOthers()
    keepBusy(pools[own])
    const read = async () => {
      const samples = await scrape('nextvisit_database_')
      const of = (pool: string) => ({
        busy: samples[`nextvisit_database_connections{pool="${pool}",state="busy"}`],
        waiting: samples[`nextvisit_database_waiting_statements{pool="${pool}"}`],
      })
      return { folds: of('folds'), upkeep: of('upkeep'), admission: of('admission'), reads: of('reads') }
    }
    const expected = {
      folds: NONE,
      upkeep: NONE,
      admission: NONE,
      reads: NONE,
      [busy]: { busy: connections, waiting: 8 - connections },
    }
    await expect.poll(read, SOON).toEqual(expected)
    await answerOthers()
    const idle = others[0] === pools.foldDb ? 'folds' : 'upkeep'
    const sample = `nextvisit_database_connections{pool="${idle}",state="idle"}`
    expect(await scrape(sample)).toEqual({ [sample]: 1 })
  })
})

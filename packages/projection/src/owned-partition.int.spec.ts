import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../test/visits-projection.ts'
import { createOwnedPartition } from './owned-partition.ts'
import { createRunnerMetrics } from './runner-metrics.ts'

const records = factsAsRecords(Array.from({ length: 10 }, (_, index) => eventTracked({ eventName: `Event ${index}` })))
const at = (minute: number) => new Date(Date.UTC(2026, 10, 2, 10, minute))

async function givenOwned(db: Db, { logEnd = 0n, projection = createVisitsProjection() } = {}) {
  let minute = 0
  const registry = new Registry()
  const owned = createOwnedPartition({
    topic: 'user-events',
    partition: 0,
    fold: await givenVisitsFold(db, projection),
    logEnd,
    logger: createLogger('spec', 'silent'),
    metrics: createRunnerMetrics(registry, () => []),
    now: () => at(minute),
    signal: new AbortController().signal,
  })
  return { owned, registry, pass: (minutes: number) => (minute += minutes) }
}

/** What the example's ticks wrote: their instants, as far as it keeps them. */
async function readTicks(db: Db): Promise<{ count: number; last_event: string }[]> {
  return db.$queryRaw(sql`SELECT count, last_event FROM visits WHERE user_id = '00000000-0000-4000-8000-000000000000'`)
}

describe('an owned partition', () => {
  it('ticks only once everything is folded that was in the log at the instant', async () => {
    const { db } = await givenVisitsDatabase()
    const { owned } = await givenOwned(db)
    await owned.tick(at(1), 10n)
    await owned.handle(batchOf(records, 0, 9))
    await owned.tick(at(2), 10n)
    expect(await readTicks(db)).toEqual([])
    await owned.handle(batchOf(records, 9, 10))
    expect(await readTicks(db)).toEqual([{ count: 1, last_event: at(1).toISOString() }])
    await owned.tick(at(3), 10n)
    expect(await readTicks(db)).toEqual([{ count: 2, last_event: at(3).toISOString() }])
  })

  it('does one thing at a time, in the order asked for', async () => {
    const { db } = await givenVisitsDatabase()
    const { owned, registry } = await givenOwned(db)
    const batches = records.map((_, index) => batchOf(records, index, index + 1))
    await Promise.all(batches.flatMap((batch) => [owned.handle(batch), owned.tick(at(1), batch.nextOffset)]))
    expect(await countVisits(db)).toBe(10)
    expect(await readTicks(db)).toMatchObject([{ count: 10 }])
    expect(await registry.getSingleMetricAsString('projection_stale_commits_total')).toMatch(/ 0$/m)
  })

  it('goes on from where another owner has come to, and counts that it was refused', async () => {
    const { db, openDb } = await givenVisitsDatabase()
    const { owned, registry } = await givenOwned(db)
    const other = await givenVisitsFold(openDb())
    await other.fold(batchOf(records, 0, 6))
    await owned.handle(batchOf(records, 0, 4))
    await owned.handle(batchOf(records, 4, 10))
    expect(await countVisits(db)).toBe(10)
    expect(await registry.getSingleMetricAsString('projection_stale_commits_total')).toMatch(/ 1$/m)
  })

  it('tells how long a backlog waits, from before it began', async () => {
    const { db } = await givenVisitsDatabase()
    const { owned, pass } = await givenOwned(db, { logEnd: 10n })
    pass(3)
    expect(owned.progress()).toMatchObject({ lagRecords: 10n, lagSeconds: 180, stalledMs: 180_000 })
    await owned.handle(batchOf(records, 0, 5))
    expect(owned.progress()).toMatchObject({ lagRecords: 5n, stalledMs: 0 })
    expect(owned.progress().lagSeconds).toBeCloseTo(180, 0)
    await owned.handle(batchOf(records, 5, 10))
    expect(owned.progress()).toMatchObject({ lagRecords: 0n, lagSeconds: 0, stalledMs: 0 })
  })

  it('does not take a record that comes after a quiet hour for one that has waited for an hour', async () => {
    const { db } = await givenVisitsDatabase()
    const { owned, pass } = await givenOwned(db)
    await owned.handle({ ...batchOf(records, 0, 5), highWatermark: 5n })
    pass(60)
    owned.noticeEnd(6n)
    expect(owned.progress()).toMatchObject({ lagRecords: 1n, lagSeconds: 0, stalledMs: 0 })
    pass(2)
    expect(owned.progress()).toMatchObject({ lagRecords: 1n, lagSeconds: 120, stalledMs: 120_000 })
  })

  it('is not stuck while Postgres is asked in vain: a fresh process would do no better', async () => {
    const { db } = await givenVisitsDatabase()
    const visits = createVisitsProjection()
    let refusals = 2
    const load: typeof visits.load = async (...asked) => {
      pass(2)
      if (refusals-- > 0) throw new Error('Connection terminated unexpectedly')
      expect(owned.progress()).toMatchObject({ lagRecords: 10n, stalledMs: 120_000 })
      return visits.load?.(...asked) ?? visits.empty()
    }
    const { owned, pass } = await givenOwned(db, { logEnd: 10n, projection: { ...visits, load } })
    await owned.handle(batchOf(records))
    expect(await countVisits(db)).toBe(10)
  })
})

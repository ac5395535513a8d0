import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, sql } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'
import type { PartitionProgress } from '../watch/partition-progress.ts'
import { createRunnerMetrics } from '../watch/runner-metrics.ts'
import { createOwnedPartition } from './owned-partition.ts'

const records = factsAsRecords(Array.from({ length: 10 }, (_, index) => eventTracked({ eventName: `Event ${index}` })))
const at = (minute: number) => new Date(Date.UTC(2026, 10, 2, 10, minute))

async function givenOwned(db: CommitDb, { logEnd = 0n, projection = createVisitsProjection() } = {}) {
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
    drainSoon: () => {},
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

  it('counts how long nothing was folded through every retry, and apart from that how long nothing was answered', async () => {
    const { db } = await givenVisitsDatabase()
    const visits = createVisitsProjection()
    const seen: PartitionProgress[] = []
    const load: typeof visits.load = async (...asked) => {
      pass(2)
      seen.push(owned.progress())
      if (seen.length < 3) throw new Error('Connection terminated unexpectedly')
      return visits.load?.(...asked) ?? visits.empty()
    }
    const { owned, pass } = await givenOwned(db, { logEnd: 10n, projection: { ...visits, load } })
    await owned.handle(batchOf(records))
    expect(seen.map(({ stalledMs, hangsMs }) => [stalledMs, hangsMs])).toEqual([
      [120_000, 120_000],
      [240_000, 120_000],
      [360_000, 120_000],
    ])
    expect(seen.map(({ alarms }) => alarms)).toMatchObject([
      [{ kind: 'stalled', offset: 0n, code: 'NO_ANSWER' }],
      [{ kind: 'stalled', offset: 0n, message: expect.stringContaining('Connection terminated') }],
      [{ kind: 'stalled', offset: 0n, sinceMs: at(0).getTime() }],
    ])
    expect(owned.progress()).toMatchObject({ stalledMs: 0, hangsMs: 0, alarms: [] })
    expect(await countVisits(db)).toBe(10)
  })

  it('reports ticks that fail: a bug at once, anything else after a minute; batches are folded meanwhile', async () => {
    const { db } = await givenVisitsDatabase()
    const errors: (Error | undefined)[] = [
      new Error('Connection terminated unexpectedly'),
      new Error('Connection terminated unexpectedly'),
      new TypeError('a bug'),
      undefined,
    ]
    const visits = createVisitsProjection()
    const tick: typeof visits.tick = async (...asked) => {
      const error = errors.shift()
      if (error) throw error
      return visits.tick?.(...asked) ?? []
    }
    const { owned, pass } = await givenOwned(db, { projection: { ...visits, tick } })
    const tickAt = async (minute: number) => {
      await owned.tick(at(minute), 0n)
      pass(1)
      return owned.progress()
    }
    expect((await tickAt(1)).alarms).toMatchObject([{ kind: 'ticks', message: expect.stringContaining('Connection') }])
    await owned.handle(batchOf(records))
    expect((await tickAt(2)).ticksFailMs).toBe(120_000)
    expect((await tickAt(3)).alarms).toMatchObject([
      { kind: 'ticks', code: 'FOLD_FAILED', message: 'TypeError: a bug' },
    ])
    expect(await tickAt(4)).toMatchObject({ alarms: [], ticksFailMs: 0 })
    expect(await countVisits(db)).toBe(10)
    expect(await readTicks(db)).toHaveLength(1)
  })

  it('gives the batches time between ticks that fail', async () => {
    const { db } = await givenVisitsDatabase()
    let ticks = 0
    const tick = async () => {
      ticks += 1
      throw new Error('Connection terminated unexpectedly')
    }
    const { owned, pass } = await givenOwned(db, { projection: { ...createVisitsProjection(), tick } })
    await owned.tick(at(1), 0n)
    await owned.tick(at(1), 0n)
    expect(ticks).toBe(1)
    pass(1)
    await owned.tick(at(2), 0n)
    expect(ticks).toBe(2)
  })
})

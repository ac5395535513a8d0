import { setTimeout as sleep } from 'node:timers/promises'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, sql } from '@nextvisit/database'
import { type FetchedBatch, UndecodableBatchError } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { givenFoldParts, givenPartition, givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'
import type { PartitionProgress } from './partition-progress.ts'
import { createRunnerMetrics } from './runner-metrics.ts'
import { createCommitLoop } from './commit-loop.ts'
import type { Partition } from './partition.ts'

const records = factsAsRecords(Array.from({ length: 10 }, (_, index) => eventTracked({ eventName: `Event ${index}` })))
const at = (minute: number) => new Date(Date.UTC(2026, 10, 2, 10, minute))

/** A partition whose batches a commit loop commits, until the test ends. The test moves its clocks. */
async function given(db: CommitDb, { logEnd = 0n, projection = createVisitsProjection() } = {}) {
  let minute = 0
  const logged: string[] = []
  const write = (line: string): void => void logged.push((JSON.parse(line) as { readonly msg: string }).msg)
  const logger = createLogger('spec', 'info', { write })
  const registry = new Registry()
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = createCommitLoop(givenFoldParts(db, projection), (): readonly Partition[] => [partition], signal)
  const partition = givenPartition(await givenVisitsFold(db, projection), {
    logEnd,
    metrics: createRunnerMetrics(registry, () => []),
    now: () => at(minute),
    logger,
    wake: loop.wake,
    signal,
  })
  const running = loop.run()
  const realNow = performance.now.bind(performance)
  const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + minute * 60_000)
  onTestFinished(async () => {
    stopping.abort()
    await running
    monotonic.mockRestore()
  })
  return { partition, registry, wake: loop.wake, logged, pass: (minutes: number) => (minute += minutes) }
}

/** Work that a test can hold up. */
function holdable() {
  let held: PromiseWithResolvers<void> | undefined
  let begun = 0
  return {
    run: async <T>(work: () => T | Promise<T>): Promise<T> => {
      begun += 1
      await held?.promise
      return work()
    },
    begun: () => begun,
    hold: () => void (held = Promise.withResolvers<void>()),
    letGo: () => {
      held?.resolve()
      held = undefined
    },
  }
}

/** Reads the instants that the example's ticks wrote, as far as it keeps them. */
async function readTicks(db: Db): Promise<{ count: number; last_event: string }[]> {
  return db.$queryRaw(sql`SELECT count, last_event FROM visits WHERE user_id = '00000000-0000-4000-8000-000000000000'`)
}

describe('a partition', () => {
  it('ticks only after every record that was in the log at the instant is folded', async () => {
    const { db } = await givenVisitsDatabase()
    const { partition } = await given(db)
    await partition.requestTick(at(1), 10n)
    await partition.give(batchOf(records, 0, 9))
    await partition.requestTick(at(2), 10n)
    expect(await readTicks(db)).toEqual([])
    await partition.give(batchOf(records, 9, 10))
    expect(await readTicks(db)).toEqual([{ count: 1, last_event: at(1).toISOString() }])
    await partition.requestTick(at(3), 10n)
    expect(await readTicks(db)).toEqual([{ count: 2, last_event: at(3).toISOString() }])
  })

  it('runs batches and ticks one at a time, in the requested order', async () => {
    const { db } = await givenVisitsDatabase()
    const { partition, registry } = await given(db)
    for (const batch of records.map((_, index) => batchOf(records, index, index + 1)))
      await Promise.all([partition.give(batch), partition.requestTick(at(1), batch.nextOffset)])
    expect(await countVisits(db)).toBe(10)
    expect(await readTicks(db)).toMatchObject([{ count: 10 }])
    expect(await registry.getSingleMetricAsString('projection_stale_commits_total')).toMatch(/ 0$/m)
  })

  it('begins no commit during a tick, and no tick during a commit', async () => {
    const { db } = await givenVisitsDatabase()
    const [tick, load] = [holdable(), holdable()]
    const visits = createVisitsProjection()
    const { partition } = await given(db, {
      projection: {
        ...visits,
        load: (...asked) => load.run(() => visits.load(...asked)),
        ticks: { ...visits.ticks, tick: (...asked) => tick.run(() => visits.ticks.tick(...asked)) },
      },
    })
    tick.hold()
    const ticked = partition.requestTick(at(1), 0n)
    const folded = partition.give(batchOf(records, 0, 5))
    await expect.poll(tick.begun).toBe(1)
    expect(partition.readyAtMs()).toBe(Infinity)
    expect(load.begun()).toBe(0)
    load.hold()
    tick.letGo()
    await ticked
    await expect.poll(load.begun).toBe(1)
    await partition.requestTick(at(2), 0n)
    expect(tick.begun()).toBe(1)
    load.letGo()
    await folded
    expect(tick.begun()).toBe(2)
    expect(await countVisits(db)).toBe(5)
    expect(await readTicks(db)).toEqual([{ count: 2, last_event: at(2).toISOString() }])
  })

  it('accepts the next batch only once the work after its commit is done', async () => {
    const { db } = await givenVisitsDatabase()
    const reply = holdable()
    const visits = createVisitsProjection()
    const afterCommit = () => reply.run(() => {})
    const { partition } = await given(db, { projection: { ...visits, afterCommit } })
    reply.hold()
    const folded = partition.give(batchOf(records, 0, 5))
    await expect.poll(() => countVisits(db)).toBe(5)
    await expect(partition.give(batchOf(records, 5))).rejects.toThrow('was given a batch while it had one')
    expect(await Promise.race([folded, Promise.resolve('waits')])).toBe('waits')
    reply.letGo()
    await folded
    await partition.give(batchOf(records, 5))
    expect(await countVisits(db)).toBe(10)
  })

  it('is halted at a gap, with nothing folded', async () => {
    const { db } = await givenVisitsDatabase()
    const { partition } = await given(db)
    partition.give(batchOf(records, 3)).catch(() => {}) // until the test ends
    await expect
      .poll(() => partition.progress().alarms)
      .toMatchObject([{ kind: 'halted', code: 'GAP_IN_LOG', offset: 0n }])
    expect(await countVisits(db)).toBe(0)
  })

  describe('that is halted at an undecodable batch', () => {
    const error = new UndecodableBatchError('user-events', 0, 4n, { cause: new RangeError('damaged'), lastOffset: 7n })
    /** Returns a batch from this offset. One stand-in replaces its records at offsets 4 to 7. */
    const damagedFrom = (from: number): FetchedBatch => {
      const whole = batchOf(records, from)
      const [standIn] = batchOf(records, 4).records.map((one) => ({ ...one, undecodable: { error, lastOffset: 7n } }))
      const before = whole.records.filter(({ offset }) => offset < 4n)
      const after = whole.records.filter(({ offset }) => offset > 7n)
      return { ...whole, records: [...before, ...(standIn ? [standIn] : []), ...after] }
    }

    async function givenHalted() {
      const { db } = await givenVisitsDatabase()
      const one = await given(db)
      const held = one.partition.give(damagedFrom(0))
      const halts = () => one.partition.progress().alarms
      await expect.poll(halts).toMatchObject([{ kind: 'halted', code: 'BATCH_UNDECODABLE', offset: 4n }])
      const readAgain = async (): Promise<unknown> => {
        one.pass(1)
        one.wake()
        return held
      }
      return { ...one, db, held, halts, readAgain }
    }

    it('has it read again after a minute, and continues once it is readable', async () => {
      const { db, partition, pass, wake, held, halts, readAgain, logged } = await givenHalted()
      const [halt] = halts()
      wake()
      await sleep(50)
      expect(await Promise.race([held, Promise.resolve('waits')])).toBe('waits')
      expect(await readAgain()).toEqual({ offset: 4n })
      expect(halts()).toEqual([halt])
      const again = partition.give(damagedFrom(4))
      await sleep(50)
      pass(1)
      wake()
      expect(await again).toEqual({ offset: 4n })
      expect(halts()).toEqual([halt])
      expect(await countVisits(db)).toBe(4)
      expect(await partition.give(batchOf(records, 4))).toBeUndefined()
      expect(await countVisits(db)).toBe(10)
      expect(halts()).toEqual([])
      expect(logged).toEqual([expect.stringContaining('is halted'), expect.stringContaining('no longer halted')])
    })

    it.each(['waits', 'is being read again'])('sets it aside at once while it %s', async (state) => {
      const { db, partition, held, readAgain } = await givenHalted()
      const isReadAgain = state !== 'waits'
      if (isReadAgain) await readAgain()
      partition.setAside(4n, 'ops')
      expect(await (isReadAgain ? partition.give(damagedFrom(4)) : held)).toBeUndefined()
      expect(await countVisits(db)).toBe(6)
      expect(await db.$queryRaw(sql`SELECT "offset" FROM dead_letters`)).toEqual([{ offset: 4n }])
    })

    it('folds its records if it is readable after an operator has set it aside', async () => {
      const { db, partition, readAgain } = await givenHalted()
      await readAgain()
      partition.setAside(4n, 'ops')
      expect(await partition.give(batchOf(records, 4))).toBeUndefined()
      expect(await countVisits(db)).toBe(10)
      expect(await db.$queryRaw(sql`SELECT "offset" FROM dead_letters`)).toEqual([])
    })
  })

  it('continues from the checkpoint of another owner, and counts the stale commit', async () => {
    const { db, openDb } = await givenVisitsDatabase()
    const { partition, registry } = await given(db)
    const other = await givenVisitsFold(openDb())
    await other.fold(batchOf(records, 0, 6))
    await partition.give(batchOf(records, 0, 4))
    await partition.give(batchOf(records, 4, 10))
    expect(await countVisits(db)).toBe(10)
    expect(await registry.getSingleMetricAsString('projection_stale_commits_total')).toMatch(/ 1$/m)
  })

  it('reports how long a backlog has waited, counted from its assignment', async () => {
    const { db } = await givenVisitsDatabase()
    const { partition, pass } = await given(db, { logEnd: 10n })
    pass(3)
    expect(partition.progress()).toMatchObject({ lagRecords: 10n, lagSeconds: 180, stalledMs: 180_000 })
    await partition.give(batchOf(records, 0, 5))
    expect(partition.progress()).toMatchObject({ lagRecords: 5n, stalledMs: 0 })
    expect(partition.progress().lagSeconds).toBeCloseTo(180, 0)
    await partition.give(batchOf(records, 5, 10))
    expect(partition.progress()).toMatchObject({ lagRecords: 0n, lagSeconds: 0, stalledMs: 0 })
  })

  it('does not report a record that arrives after a quiet hour as one that has waited for an hour', async () => {
    const { db } = await givenVisitsDatabase()
    const { partition, pass } = await given(db)
    await partition.give({ ...batchOf(records, 0, 5), highWatermark: 5n })
    pass(60)
    partition.noticeEnd(6n)
    expect(partition.progress()).toMatchObject({ lagRecords: 1n, lagSeconds: 0, stalledMs: 0 })
    pass(2)
    expect(partition.progress()).toMatchObject({ lagRecords: 1n, lagSeconds: 120, stalledMs: 120_000 })
  })

  it('counts the time without a fold through all attempts, and separately the time without any answer', async () => {
    const { db } = await givenVisitsDatabase()
    const visits = createVisitsProjection()
    const seen: PartitionProgress[] = []
    const load: typeof visits.load = async (...asked) => {
      pass(2)
      seen.push(partition.progress())
      if (seen.length < 3) throw new Error('Connection terminated unexpectedly')
      return visits.load(...asked)
    }
    const { partition, pass } = await given(db, { logEnd: 10n, projection: { ...visits, load } })
    await partition.give(batchOf(records))
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
    expect(partition.progress()).toMatchObject({ stalledMs: 0, hangsMs: 0, alarms: [] })
    expect(await countVisits(db)).toBe(10)
  })

  it('reports a bug in its ticks at once, and another failure after a minute, while it folds batches', async () => {
    const { db } = await givenVisitsDatabase()
    const errors: (Error | undefined)[] = [
      new Error('Connection terminated unexpectedly'),
      new Error('Connection terminated unexpectedly'),
      new TypeError('a bug'),
      undefined,
    ]
    const visits = createVisitsProjection()
    const tick: typeof visits.ticks.tick = async (...asked) => {
      const error = errors.shift()
      if (error) throw error
      return visits.ticks.tick(...asked)
    }
    const { partition, pass } = await given(db, {
      projection: { ...visits, ticks: { ...visits.ticks, tick } },
    })
    const tickAt = async (minute: number) => {
      await partition.requestTick(at(minute), 0n)
      pass(1)
      return partition.progress()
    }
    expect((await tickAt(1)).alarms).toMatchObject([{ kind: 'ticks', message: expect.stringContaining('Connection') }])
    await partition.give(batchOf(records))
    expect((await tickAt(2)).ticksFailMs).toBe(120_000)
    expect((await tickAt(3)).alarms).toMatchObject([
      { kind: 'ticks', code: 'FOLD_FAILED', message: 'TypeError: a bug' },
    ])
    expect(await tickAt(4)).toMatchObject({ alarms: [], ticksFailMs: 0 })
    expect(await countVisits(db)).toBe(10)
    expect(await readTicks(db)).toHaveLength(1)
  })

  it('pauses between failing ticks, so that batches have time', async () => {
    const { db } = await givenVisitsDatabase()
    let ticks = 0
    const visits = createVisitsProjection()
    const tick = async () => {
      ticks += 1
      throw new Error('Connection terminated unexpectedly')
    }
    const { partition, pass } = await given(db, {
      projection: { ...visits, ticks: { ...visits.ticks, tick } },
    })
    await partition.requestTick(at(1), 0n)
    await partition.requestTick(at(1), 0n)
    expect(ticks).toBe(1)
    pass(1)
    await partition.requestTick(at(2), 0n)
    expect(ticks).toBe(2)
  })

  it('keeps the pause after a tick that fails at the end of a batch, even if another tick became due meanwhile', async () => {
    const { db } = await givenVisitsDatabase()
    const held = holdable()
    held.hold()
    const visits = createVisitsProjection()
    const tick = () =>
      held.run(() => {
        throw new Error('Connection terminated unexpectedly')
      })
    const { partition } = await given(db, { projection: { ...visits, ticks: { ...visits.ticks, tick } } })
    await partition.requestTick(at(1), 5n)
    const folded = partition.give(batchOf(records, 0, 5))
    await expect.poll(held.begun).toBe(1)
    await partition.requestTick(at(2), 5n)
    held.letGo()
    await folded
    await partition.give(batchOf(records, 5, 10))
    expect(await countVisits(db)).toBe(10)
    expect(held.begun()).toBe(1)
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, sql } from '@nextvisit/database'
import { partitionForKey } from '@nextvisit/log'
import { createLogger, createMetrics } from '@nextvisit/service-kit'
import { givenScrape } from '@nextvisit/service-kit/test/given-scrape.ts'
import { listOffsetsApiKey } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenEvents, givenFaultProxy, givenLog, type GivenLog, PARTITIONS, partitionOf } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'

const SOON = { timeout: 30_000 }
const ADA = partitionOf('ada')

/** A catalog that is behind, for example: the same attempt may succeed later. */
class NotYet extends Error {
  readonly code = 'NOT_YET'
  readonly retryable = true
}

/** A runner under a clock that the test moves, with what it scrapes, logs and writes into Postgres. */
async function given(log: GivenLog, own: Partial<ReturnType<typeof createVisitsProjection>>) {
  const { db } = await givenVisitsDatabase()
  const metrics = createMetrics('spec')
  const scrape = await givenScrape(metrics)
  let aheadMs = 0
  const lines: string[] = []
  const logger = createLogger('spec', 'error', { write: (line) => void lines.push(line) })
  const now = () => new Date(Date.now() + aheadMs)
  await givenRunner(log, db, { projection: { ...createVisitsProjection(log.topic), ...own }, metrics, logger, now })
  return { db, lines, scrape, passMinute: () => (aheadMs += 61_000) }
}

/** Reads the alarms that `nextvisit status` shows: an alarm ends when the checkpoint passes its offset. */
const alarmsIn = (db: Db) =>
  db.$queryRaw<{ kind: string; code: string }[]>(sql`
    SELECT partition, kind, code FROM partition_alarms JOIN checkpoints USING (projection, topic, partition)
    WHERE next_offset <= "offset"`)

describe('a partition that makes no progress (design.md, Failures)', () => {
  it('is reported while its records have to wait, and the other partitions are folded', async () => {
    const log = await givenLog()
    let isBehind = true
    const { load } = createVisitsProjection(log.topic)
    const { db, lines, scrape, passMinute } = await given(log, {
      load: async (from, batch, context) => {
        if (isBehind && batch.some(({ partition }) => partition === ADA)) throw new NotYet('not yet')
        return load(from, batch, context)
      },
    })
    const others = givenEvents(20).filter(({ userId }) => partitionForKey(userId, PARTITIONS) !== ADA)
    await log.publish([...others, ...givenEvents(3, () => 'ada')])
    await expect.poll(() => countVisits(db), SOON).toBe(others.length)
    expect(await alarmsIn(db)).toEqual([])

    passMinute()
    await expect.poll(() => alarmsIn(db), SOON).toEqual([{ partition: ADA, kind: 'stalled', code: 'NOT_YET' }])
    const stalled = await scrape('projection_stalled_seconds')
    const reported = Object.entries(stalled).filter(([, seconds]) => seconds > 60)
    expect(reported.map(([sample]) => sample)).toEqual([`projection_stalled_seconds{partition="${ADA}"}`])
    expect(lines.filter((line) => line.includes('NOT_YET'))).toHaveLength(1)

    isBehind = false
    await expect.poll(() => countVisits(db), SOON).toBe(others.length + 3)
    await expect.poll(() => alarmsIn(db), SOON).toEqual([])
  })

  it('is reported while its ticks fail', async () => {
    const log = await givenLog()
    let isFailing = true
    const { db, scrape, passMinute } = await given(log, {
      ticks: {
        tick: async () => {
          if (isFailing) throw new NotYet('not yet')
          return { statements: [] }
        },
        due: async () => [ADA],
      },
    })
    const sample = `projection_ticks_failing_seconds{partition="${ADA}"}`
    const failing = async () => (await scrape(sample))[sample] ?? 0
    await expect.poll(failing, SOON).toBeGreaterThan(0)
    expect(await alarmsIn(db)).toEqual([])
    passMinute()
    await expect.poll(() => alarmsIn(db), SOON).toEqual([{ partition: ADA, kind: 'ticks', code: 'NOT_YET' }])
    expect(await failing()).toBeGreaterThan(60)
    isFailing = false
    await expect.poll(() => alarmsIn(db), SOON).toEqual([])
    expect(await failing()).toBe(0)
  })

  it('is reported if the end of the log cannot be read, although no tick is due', async () => {
    const log = await givenLog()
    const { proxy, connection } = await givenFaultProxy(log.connection)
    const { db, passMinute } = await given(
      { ...log, connection },
      {
        ticks: { tick: async () => ({ statements: [] }), due: async () => [] },
      },
    )
    await log.publish(givenEvents(1, () => 'ada'))
    await expect.poll(() => countVisits(db), SOON).toBe(1)
    const codes = async () => (await alarmsIn(db)).map(({ kind, code }) => `${kind} ${code}`)

    proxy.onResponse(({ apiKey }) => (apiKey === listOffsetsApiKey ? { cutAfterBytes: 4 } : 'pass'))
    await sleep(2_000)
    expect(await codes()).toEqual([])
    passMinute()
    await expect.poll(codes, SOON).toContain('ticks LOG_UNAVAILABLE')
    proxy.onResponse(() => 'pass')
    await expect.poll(codes, SOON).toEqual([])
  })
})

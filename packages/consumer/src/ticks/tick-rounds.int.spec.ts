import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { sql } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { expect, it, onTestFinished, vi } from 'vitest'
import { givenPartition, givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import type { Partition } from '../partition/partition.ts'
import { createTickRounds } from './tick-rounds.ts'

const soon = { timeout: 20_000 }
const place = { topic: 'user-events', partition: 0 }

/** Ticks of one partition, with the rounds in which it was ticked, and those in which the log's end was read. */
async function givenTicks() {
  const { db } = await givenVisitsDatabase()
  const visits = createVisitsProjection()
  const seen = { rounds: 0, polls: 0, ticked: [] as number[], ends: [] as number[] }
  const tick = async () => void seen.ticked.push(seen.rounds)
  const { signal } = new AbortController()
  const partition = givenPartition(await givenVisitsFold(db), { wake: () => {}, signal })
  const ticked: Partition = { ...partition, requestTick: tick }
  const due = async () => {
    seen.rounds += 1
    return []
  }
  const watermarks = async () => {
    seen.ends.push(seen.rounds)
    return new Map([[0, { low: 0n, high: 1n }]])
  }
  const ticks = createTickRounds({
    projection: { ...visits, ticks: { ...visits.ticks, due } },
    db,
    catalog: staticCatalog([]),
    logAdmin: { watermarks },
    owned: () => [ticked],
    now: () => new Date(),
    logger: createLogger('spec', 'silent'),
    everyMs: 1,
    onPoll: () => void (seen.polls += 1),
    signal,
  })
  onTestFinished(ticks.finished)
  onTestFinished(ticks.stop)
  return { db, seen, ticks }
}

it('ticks poll for retries and the log’s end in every fifth round, and for retries in each while there are some', async () => {
  const { db, seen, ticks } = await givenTicks()
  await db.$executeRaw(sql`
    INSERT INTO dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version, state)
    VALUES ('visits', ${place.topic}, ${place.partition}, 0, '{}', now(), 'value is not JSON', 'test', 'retry')`)
  ticks.start()
  await vi.waitFor(() => expect(seen.ticked.length).toBeGreaterThanOrEqual(4), soon)
  await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retried'`)
  const rounds = seen.rounds
  await vi.waitFor(() => expect(seen.rounds).toBeGreaterThan(rounds + 12), soon)
  const last = seen.ticked.at(-1) ?? 0
  expect(seen.ticked).toEqual(Array.from({ length: last - 4 }, (_, index) => index + 5))
  expect(seen.ends.filter((round) => round > last).every((round) => round % 5 === 0)).toBe(true)
  expect(seen.polls).toBeGreaterThanOrEqual(Math.floor(seen.rounds / 5) - 1)
})

import { encodeRecord } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenEvents, givenLog, type GivenLog, partitionOf } from '../test/given-log.ts'
import { givenRunner } from '../test/given-runner.ts'
import { givenVisitsDatabase } from '../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../test/visits-projection.ts'

const soon = { timeout: 20_000 }
const ofAda = () => givenEvents(1, () => 'ada')

async function given(callersWait: boolean) {
  const log = await givenLog()
  const { db } = await givenVisitsDatabase()
  // Without ticks every commit is one of records.
  const projection = { ...createVisitsProjection(log.topic), due: async () => [] }
  const { runner } = await givenRunner(log, db, { projection, callersWait, gatherMs: 600_000 })
  const lag = () => runner.progress().reduce((sum, { lagRecords }) => sum + Number(lagRecords), 0)
  return { log, db, runner, lag, visits: () => countVisits(db) }
}

async function countCommits(db: Db): Promise<number> {
  const [row] = await db.$queryRaw<{ commits: bigint }[]>(sql`SELECT sum(version)::bigint AS commits FROM checkpoints`)
  return Number(row?.commits)
}

/** An event whose caller waits for a reply. */
async function publishAwaited({ topic, publisher }: GivenLog): Promise<void> {
  const fact = eventTracked({ userName: 'ada' })
  const record = encodeRecord(fact, { source: 'test', time: fact.received, replyTo: 'a-gateway' })
  const place = { topic, partition: partitionOf('ada'), key: fact.userId }
  await publisher.publish({ ...place, ...record }, performance.now() + 10_000)
}

it('lets records gather in the log after a fold, until somebody hurries', async () => {
  const { log, db, runner, lag, visits } = await given(false)
  await log.publish(ofAda())
  await expect.poll(visits, soon).toBe(1)
  for (let sent = 1; sent <= 3; sent++) {
    await log.publish(ofAda())
    await expect.poll(lag, soon).toBe(sent)
  }
  expect(await visits()).toBe(1)
  runner.hurry()
  await expect.poll(visits, soon).toBe(4)
  expect(await countCommits(db)).toBe(2)
})

it('folds a record that a caller waits for at once, in one commit with what came in other fetches before', async () => {
  const { log, db, lag, visits } = await given(true)
  for (let sent = 1; sent <= 3; sent++) {
    await log.publish(ofAda())
    await expect.poll(lag, soon).toBe(sent)
  }
  expect(await visits()).toBe(0)
  await publishAwaited(log)
  await expect.poll(visits, soon).toBe(4)
  expect(await countCommits(db)).toBe(1)
})

import { type Db, sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenEvents, givenLog, partitionOf } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'

const soon = { timeout: 50_000 }
const ofAda = () => givenEvents(1, () => 'ada')

async function given() {
  const log = await givenLog()
  const { db } = await givenVisitsDatabase()
  // Without ticks every commit is one of records.
  const visits = createVisitsProjection(log.topic)
  const projection = { ...visits, ticks: { ...visits.ticks, due: async () => [] } }
  const { runner } = await givenRunner(log, db, { projection, fetchPauseMs: 600_000 })
  const lag = () => runner.progress().reduce((sum, { lagRecords }) => sum + Number(lagRecords), 0)
  return { log, db, runner, lag, visits: () => countVisits(db) }
}

async function countCommits(db: Db): Promise<number> {
  const [row] = await db.$queryRaw<{ commits: bigint }[]>(sql`SELECT sum(version)::bigint AS commits FROM checkpoints`)
  return Number(row?.commits)
}

it('a runner lets records gather in the log after a fold until a caller waits', async () => {
  const { log, db, runner, lag, visits } = await given()
  await log.publish(ofAda())
  await expect.poll(visits, soon).toBe(1)
  for (let sent = 1; sent <= 3; sent++) {
    await log.publish(ofAda())
    await expect.poll(lag, soon).toBe(sent)
  }
  expect(await visits()).toBe(1)
  runner.fetchNow()
  await expect.poll(visits, soon).toBe(4)
  expect(await countCommits(db)).toBe(2)
})

it('a runner folds a record that a caller waits for once a gateway names it, in one commit with the gathered records', async () => {
  const { log, db, runner, lag, visits } = await given()
  const partition = partitionOf('ada')
  await log.publish(ofAda())
  await expect.poll(visits, soon).toBe(1)
  await log.publish(ofAda())
  await expect.poll(lag, soon).toBe(1)
  runner.fetchAwaited({ topic: log.topic, partition, offset: 0n })
  runner.fetchAwaited({ topic: 'another', partition, offset: 1n })
  expect(await visits()).toBe(1)
  runner.fetchAwaited({ topic: log.topic, partition, offset: 1n })
  await expect.poll(visits, soon).toBe(2)
  expect(await countCommits(db)).toBe(2)
})

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { staticCatalog } from '@nextvisit/catalog'
import { encodeRecord, type UserFact } from '@nextvisit/contracts'
import { eventTracked, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createLogAdmin, createLogReader, createPublisher, type LogConnection, partitionForKey } from '@nextvisit/log'
import { createTestDatabase, createTestTopic, type TestDatabase } from '@nextvisit/testing'
import { createLogger } from '@nextvisit/service-kit'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { createBarrier } from './barrier.ts'
import { createVisitsProjection, readVisits } from './fixtures/visits-projection.ts'
import { createProjectionRunner, type ProjectionRunner } from './projection-runner.ts'

const PARTITIONS = 4
const migrations = fileURLToPath(new URL('fixtures/migrations', import.meta.url))

let database: TestDatabase
let db: Db
let topic: string
let connection: LogConnection
const opened: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  database = await createTestDatabase(inject('databaseUrl'), { schema: 'visits', migrations })
  db = openTestDb(database.url, 'visits')
  ;({ topic, connection } = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS }))
  const admin = createLogAdmin(connection)
  await admin.connect()
  await admin.createTopic(`${topic}.out`, { partitions: 1 })
  await admin.disconnect()
})
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
  await db.$disconnect()
  await database.drop()
})

async function givenPublisher() {
  const publisher = createPublisher(connection)
  await publisher.start()
  opened.push(() => publisher.stop(1_000))
  return publisher
}

async function publish(facts: readonly UserFact[], values: readonly string[] = []): Promise<void> {
  const publisher = await givenPublisher()
  const deadlineAt = performance.now() + 10_000
  const records = facts.map((fact) => ({
    key: fact.userId,
    ...encodeRecord(fact, { source: 'test', time: fact.received }),
  }))
  const poison = values.map((value) => ({ key: userIdFixture('ada'), value, headers: { 'schema-version': '1' } }))
  const outcomes = await Promise.all(
    [...records, ...poison].map((record) =>
      publisher.publish({ topic, partition: partitionForKey(record.key, PARTITIONS), ...record }, deadlineAt),
    ),
  )
  expect(outcomes.every(({ outcome }) => outcome === 'published')).toBe(true)
}

async function givenRunner(own: Partial<Parameters<typeof createProjectionRunner>[0]> = {}) {
  const onFailure = vi.fn<(error: Error) => void>()
  const runner: ProjectionRunner = createProjectionRunner({
    projection: createVisitsProjection(topic),
    db,
    connection,
    catalog: staticCatalog([]),
    logger: createLogger('spec', 'silent'),
    now: () => new Date(),
    serviceVersion: 'test',
    onFailure,
    tickEveryMs: 50,
    groupId: `visits.${topic}`,
    consumer: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
    ...(own as object),
  })
  await runner.start()
  opened.push(runner.stop)
  return { runner, onFailure }
}

const events = (count: number, userName = (index: number) => `user-${index % 20}`) =>
  Array.from({ length: count }, (_, index) => eventTracked({ userName: userName(index), eventName: `Event ${index}` }))

async function countFolded(): Promise<number> {
  const rows = (await readVisits(db)) as { count: number }[]
  return rows.reduce((sum, { count }) => sum + count, 0)
}

describe('a projection runner', () => {
  it('folds what is in the log, goes on from its checkpoint, and counts nothing twice', async () => {
    await publish(events(100))
    const { runner } = await givenRunner()
    await expect.poll(countFolded, { timeout: 20_000 }).toBe(100)
    await runner.stop()
    await publish(events(50))
    await givenRunner()
    await expect.poll(countFolded, { timeout: 20_000 }).toBe(150)
  })

  it('shares the partitions with another and loses and doubles nothing when one comes and goes', async () => {
    const { runner } = await givenRunner()
    const publishing = (async () => {
      for (let round = 0; round < 20; round++) {
        await publish(events(50))
        await sleep(100)
      }
    })()
    await sleep(500)
    const second = await givenRunner({ db: openTestDb(database.url, 'visits') })
    await expect.poll(() => second.runner.progress().length, { timeout: 20_000 }).toBeGreaterThan(0)
    await expect
      .poll(() => runner.progress().length + second.runner.progress().length, { timeout: 20_000 })
      .toBe(PARTITIONS)
    await second.runner.stop()
    await publishing
    await expect.poll(countFolded, { timeout: 20_000 }).toBe(1_000)
  })

  it('goes on when Postgres cuts all its connections', async () => {
    const { onFailure } = await givenRunner()
    for (let round = 0; round < 10; round++) {
      await publish(events(50))
      const admin = openTestDb(inject('databaseUrl'), 'public')
      await admin.$queryRaw(sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = ${new URL(database.url).pathname.slice(1)}`)
      await admin.$disconnect()
    }
    const fresh = openTestDb(database.url, 'visits')
    opened.push(() => fresh.$disconnect())
    const count = async () =>
      ((await readVisits(fresh)) as { count: number }[]).reduce((sum, row) => sum + row.count, 0)
    await expect.poll(count, { timeout: 30_000 }).toBe(500)
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('stops loudly at a bug, with nothing of the batch written', async () => {
    await publish([
      eventTracked({ userName: 'ada', eventName: 'Fine' }),
      eventTracked({ userName: 'ada', eventName: 'A bug' }),
    ])
    const { onFailure } = await givenRunner()
    await expect.poll(() => onFailure.mock.calls.length, { timeout: 20_000 }).toBe(1)
    expect(onFailure.mock.calls[0]?.[0]).toMatchObject({ code: 'FOLD_FAILED', retryable: false })
    expect(await countFolded()).toBe(0)
  })

  it('halts at a checkpoint beyond the end of the log instead of resetting it', async () => {
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', ${topic}, 0, 7)`)
    const { onFailure } = await givenRunner()
    await expect.poll(() => onFailure.mock.calls.length, { timeout: 20_000 }).toBe(1)
    expect(onFailure.mock.calls[0]?.[0]).toMatchObject({ code: 'CHECKPOINT_OUTSIDE_LOG' })
  })

  it('passes poison, keeps it, and folds it once an operator says so and it can be parsed', async () => {
    await publish(
      events(3, () => 'ada'),
      ['{"broken'],
    )
    await publish(events(3, () => 'ada'))
    await givenRunner()
    await expect.poll(countFolded, { timeout: 20_000 }).toBe(6)
    const mended = JSON.stringify(eventTracked({ userName: 'ada', eventName: 'Mended' }))
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry', value = convert_to(${mended}, 'UTF8')`)
    await expect.poll(countFolded, { timeout: 20_000 }).toBe(7)
    await sleep(300)
    expect(await countFolded()).toBe(7)
    expect(await db.$queryRaw(sql`SELECT state FROM dead_letters`)).toEqual([{ state: 'retried' }])
  })

  it('makes a dead letter dead again where a retry still cannot parse it', async () => {
    await publish([], ['{"broken'])
    await givenRunner()
    const states = () => db.$queryRaw(sql`SELECT state FROM dead_letters`)
    await expect.poll(states, { timeout: 20_000 }).toEqual([{ state: 'dead' }])
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry'`)
    await expect.poll(states, { timeout: 20_000 }).toEqual([{ state: 'dead' }])
  })

  it('publishes its outbox in order for each key, and leaves nothing behind', async () => {
    const facts = events(60)
    await publish(facts)
    await givenRunner({ publisher: await givenPublisher() })
    await expect.poll(() => readOut(), { timeout: 20_000 }).toHaveLength(60)
    const out = await readOut()
    for (const userId of new Set(facts.map((fact) => fact.userId))) {
      const idsOf = (all: readonly { id: string; userId: string }[]) =>
        all.filter((one) => one.userId === userId).map(({ id }) => id)
      expect(idsOf(out)).toEqual(idsOf(facts))
    }
    await expect.poll(() => db.$queryRaw(sql`SELECT FROM outbox`)).toEqual([])
  })

  it('ticks each partition, but not before what was in the log is folded', async () => {
    await givenRunner()
    const ticks = () =>
      db.$queryRaw<{ count: number }[]>(
        sql`SELECT count FROM visits WHERE user_id = '00000000-0000-4000-8000-000000000000'`,
      )
    await expect.poll(async () => (await ticks())[0]?.count ?? 0, { timeout: 20_000 }).toBeGreaterThan(PARTITIONS)
  })

  it('lets a barrier through only when everything that was in the log is folded', async () => {
    await publish(events(200))
    const logAdmin = createLogAdmin(connection)
    await logAdmin.connect()
    opened.push(logAdmin.disconnect)
    const barrier = createBarrier({ db, logAdmin, projection: 'visits', topic })
    const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    await expect(barrier(all, AbortSignal.timeout(200))).rejects.toThrow()
    await givenRunner()
    await barrier(all, AbortSignal.timeout(20_000))
    expect(await countFolded()).toBe(200)
  })
})

async function readOut(): Promise<{ id: string; userId: string }[]> {
  const found: { id: string; userId: string }[] = []
  await createLogReader(connection).readFrom(
    `${topic}.out`,
    new Map([[0, 0n]]),
    (batch) => {
      for (const { value } of batch.records)
        found.push(JSON.parse(value?.toString() ?? '') as { id: string; userId: string })
    },
    { until: 'end' },
  )
  return found
}

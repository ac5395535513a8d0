import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, type UserFact } from '@nextvisit/contracts'
import { eventTracked, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, type Sql, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { readLog, partitionForKey } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import { describe, expect, inject, it } from 'vitest'
import { givenFreezablePostgres } from '../../test/freezable-postgres.ts'
import { givenEvents, givenLog, type GivenLog, PARTITIONS, TRACEPARENT } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection, type VisitsProjection } from '../../test/visits-projection.ts'
import type { Ticks } from '../core/projection.ts'

async function given() {
  return { log: await givenLog(), ...(await givenVisitsDatabase()) }
}

const soon = { timeout: 20_000 }
const visitsOf = (db: Db) => () => countVisits(db)
const eventsOfAda = (count: number) => givenEvents(count, () => 'ada')

describe('a projection runner', () => {
  it('folds the log, continues from its checkpoint, and counts nothing twice', async () => {
    const { log, db } = await given()
    await log.publish(givenEvents(100))
    const { runner } = await givenRunner(log, db)
    await expect.poll(visitsOf(db), soon).toBe(100)
    await runner.stop()
    await log.publish(givenEvents(50))
    await givenRunner(log, db)
    await expect.poll(visitsOf(db), soon).toBe(150)
  })

  it('logs each folded record with its request and trace at the debug level', async () => {
    const { log, db } = await given()
    const lines: string[] = []
    const logger = createLogger('spec', 'debug', { write: (line) => void lines.push(line) })
    const [event] = eventsOfAda(1)
    await log.publish([event as UserFact])
    await givenRunner(log, db, { logger })
    await expect.poll(visitsOf(db), soon).toBe(1)
    // The line follows the commit.
    const said = () => lines.map((line) => JSON.parse(line) as object)
    await expect.poll(said, soon).toContainEqual(
      expect.objectContaining({
        msg: 'Folded',
        topic: log.topic,
        offset: '0',
        recordId: event?.id,
        traceparent: TRACEPARENT,
        trace_id: TRACEPARENT.slice(3, 35),
      }),
    )
  })

  it('shares the partitions with another runner, and neither loses nor doubles a record when that one starts and stops', async () => {
    const { log, db, openDb } = await given()
    // Sessions outlast the test: partitions move only because the runner leaves its group.
    const groupReader = { sessionTimeoutMs: 60_000, heartbeatIntervalMs: 200, maxWaitMs: 50 }
    const { runner } = await givenRunner(log, db, { groupReader })
    const publishing = publishInRounds(log, 20)
    await sleep(500)
    const second = await givenRunner(log, openDb(), { groupReader })
    await expect.poll(() => second.runner.progress().length, soon).toBeGreaterThan(0)
    await expect.poll(() => runner.progress().length + second.runner.progress().length, soon).toBe(PARTITIONS)
    await second.runner.stop()
    await publishing
    await expect.poll(visitsOf(db), soon).toBe(1_000)
    expect(runner.progress()).toHaveLength(PARTITIONS)
  })

  it('counts nothing twice while another owner does not know that it has lost its partitions', async () => {
    const { log, db, openDb } = await given()
    const metrics = [new Registry(), new Registry()]
    // Another group gets every partition, too: two owners of everything, all the time.
    const owners = await Promise.all(
      metrics.map((registry, index) =>
        givenRunner(log, openDb(), { metrics: registry, groupId: `visits.${log.topic}.${index}` }),
      ),
    )
    await publishInRounds(log, 20)
    await expect.poll(visitsOf(db), soon).toBe(1_000)
    const refused = await Promise.all(metrics.map(countRefusedCommits))
    expect(Math.max(...refused), 'the two got into each other’s way').toBeGreaterThan(0)
    for (const { onFailure } of owners) expect(onFailure).not.toHaveBeenCalled()
  })

  it('owns the partitions of the last assignment, even if it waited for Postgres during the one before', async () => {
    const { log, db, openDb } = await given()
    const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>()
    const { runner } = await givenRunner(
      log,
      beforeQueries(db, () => isBack),
    )
    const second = await givenRunner(log, openDb())
    await expect.poll(() => second.runner.progress().length, soon).toBe(PARTITIONS / 2)
    comeBack()
    await log.publish(givenEvents(100))
    await expect.poll(visitsOf(db), soon).toBe(100)
    await sleep(500)
    expect(runner.progress()).toHaveLength(PARTITIONS / 2)
  })

  it('continues after Postgres closes all its connections', async () => {
    const { log, db, name } = await given()
    const { onFailure } = await givenRunner(log, db)
    const admin = openTestDb(inject('databaseUrl'), 'public')
    for (let round = 0; round < 10; round++) {
      await log.publish(givenEvents(50))
      await admin.$queryRaw(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`)
    }
    await admin.$disconnect()
    await expect.poll(visitsOf(db), soon).toBe(500)
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('stops in time for its service while Postgres is frozen', { timeout: 60_000 }, async () => {
    const { log, db, name } = await given()
    const { url, freeze } = await givenFreezablePostgres(name)
    const frozen = openTestDb(url, 'visits')
    const { runner } = await givenRunner(log, frozen)
    await expect.poll(() => runner.progress().length, soon).toBe(PARTITIONS)
    freeze()
    await log.publish(givenEvents(50))
    await expect.poll(() => runner.progress().some(({ lagRecords }) => lagRecords > 0n), soon).toBe(true)
    const stopped = runner.stop().then(() => 'stopped')
    expect(await Promise.race([stopped, sleep(9_000, 'ended by force')])).toBe('stopped')
    expect(await countVisits(db)).toBe(0)
  })

  it('does not halt if another owner folds records after it has read the end of the log and before it reads its checkpoint', async () => {
    const { log, db } = await given()
    const overtakeOnce = async (): Promise<void> => {
      await log.publish(eventsOfAda(5))
      await putCheckpoint(db, log.topic, partitionForKey(userIdFixture('ada'), PARTITIONS), 5n)
    }
    let overtaking: Promise<void> | undefined
    const { onFailure } = await givenRunner(
      log,
      beforeQueries(db, () => (overtaking ??= overtakeOnce())),
    )
    await expect.poll(() => overtaking !== undefined, soon).toBe(true)
    await overtaking
    await log.publish(eventsOfAda(3))
    await expect.poll(visitsOf(db), soon).toBe(3)
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('passes an unparsable record, keeps it as a dead letter, and folds it once an operator retries it and it can be parsed', async () => {
    const { log, db } = await given()
    await log.publish(eventsOfAda(3), ['{"broken'])
    await log.publish(eventsOfAda(3))
    await givenRunner(log, db, { projection: withTicks(log, { due: async () => [] }) })
    await expect.poll(visitsOf(db), soon).toBe(6)
    const mended = JSON.stringify(eventTracked({ userName: 'ada', eventName: 'Mended' }))
    await db.$executeRaw(sql`
      UPDATE dead_letters
      SET state = 'retry', value = convert_to(${mended}, 'UTF8'), headers = '{"schema-version": "2"}'`)
    await expect.poll(visitsOf(db), soon).toBe(7)
    expect(await db.$queryRaw(sql`SELECT state FROM dead_letters`)).toEqual([{ state: 'retried' }])
  })

  it('publishes its outbox in order for each key, and empties it', async () => {
    const { log, db } = await given()
    const facts = givenEvents(60)
    await log.publish(facts)
    await givenRunner(log, db, { publisher: log.publisher })
    await expect.poll(() => readOut(log), soon).toHaveLength(60)
    const out = await readOut(log)
    for (const userId of new Set(facts.map((fact) => fact.userId))) {
      const idsOf = (all: readonly { id: string; userId: string }[]) =>
        all.filter((one) => one.userId === userId).map(({ id }) => id)
      expect(idsOf(out)).toEqual(idsOf(facts))
    }
    await expect.poll(() => db.$queryRaw(sql`SELECT FROM outbox`)).toEqual([])
  })

  it('publishes its outbox after a commit, without waiting for a tick', async () => {
    const { log, db } = await given()
    await givenRunner(log, db, { publisher: log.publisher, tickEveryMs: 3_600_000 })
    await log.publish(givenEvents(20))
    await expect.poll(() => readOut(log), soon).toHaveLength(20)
  })

  it('publishes the outbox rows of its last owner without waiting for a tick', async () => {
    const { log, db } = await given()
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(20))
    await expect.poll(visitsOf(db), soon).toBe(20)
    await runner.stop()
    await givenRunner(log, db, { publisher: log.publisher, tickEveryMs: 3_600_000 })
    await expect.poll(() => readOut(log), soon).toHaveLength(20)
  })

  it('publishes the outbox rows of a tick at once, and not only when a later round polls for rows', async () => {
    const { log, db } = await given()
    let rounds = 0
    const due: Ticks['due'] = async (_db, _instant, { partitions }) => ((rounds += 1) === 1 ? partitions : [])
    const tick: Ticks['tick'] = async (_db, _instant, { partition }) => {
      const [fact] = givenEvents(1)
      const encoded = encodeRecord(fact as UserFact, { source: 'visits', time: new Date().toISOString() })
      return { statements: [], outbox: [{ partition, topic: `${log.topic}.out`, key: 'ada', ...encoded }] }
    }
    const projection = withTicks(log, { due, tick })
    await givenRunner(log, db, { projection, publisher: log.publisher, tickEveryMs: 2_000 })
    await expect.poll(() => readOut(log), soon).toHaveLength(PARTITIONS)
    expect(rounds).toBeLessThan(5)
  })

  it('reads the due partitions with one query, and ticks only those', async () => {
    const { log, db } = await given()
    let asked = 0
    const due = async (_db: unknown, _instant: Date, { partitions }: { partitions: readonly number[] }) => {
      asked += 1
      return partitions.filter((partition) => partition === 2)
    }
    await givenRunner(log, db, { projection: withTicks(log, { due }) })
    await expect.poll(() => asked, soon).toBeGreaterThan(3)
    const versions = await db.$queryRaw<{ version: bigint }[]>(sql`SELECT version FROM checkpoints ORDER BY partition`)
    expect(versions.map(({ version }) => version > 0n)).toEqual([false, false, true, false])
  })

  it('continues to tick, and to notice the end of the log, while a batch cannot be committed', async () => {
    const { log, db } = await given()
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    const visits = createVisitsProjection(log.topic)
    const load: typeof visits.load = async (...asked) => {
      await isReleased
      return visits.load(...asked)
    }
    let ticks = 0
    const due: Ticks['due'] = async (_db, _instant, { partitions }) => {
      ticks += 1
      return partitions
    }
    const { runner } = await givenRunner(log, db, { projection: { ...withTicks(log, { due }), load } })
    const lag = () => runner.progress().reduce((sum, { lagRecords }) => sum + Number(lagRecords), 0)
    await log.publish(eventsOfAda(1))
    await expect.poll(lag, soon).toBe(1)
    await expect.poll(() => ticks, soon).toBeGreaterThan(ticks + 3)
    await log.publish(eventsOfAda(5))
    await expect.poll(lag, soon).toBe(6)
    release()
    await expect.poll(lag, soon).toBe(0)
  })

  it('ticks each of its partitions, and reports their lag', async () => {
    const { log, db } = await given()
    const metrics = new Registry()
    const { runner } = await givenRunner(log, db, { metrics })
    const ticks = () =>
      db.$queryRaw<{ count: number }[]>(
        sql`SELECT count FROM visits WHERE user_id = '00000000-0000-4000-8000-000000000000'`,
      )
    await expect.poll(async () => (await ticks())[0]?.count ?? 0, soon).toBeGreaterThan(PARTITIONS)
    const lag = await metrics.getSingleMetric('projection_lag_records')?.get()
    expect(lag?.values.map(({ value }) => value)).toEqual([0, 0, 0, 0])
    await runner.stop()
    expect((await metrics.getSingleMetric('projection_lag_records')?.get())?.values).toEqual([])
  })
})

/** The example projection, with some of its ticks' functions replaced. */
function withTicks({ topic }: GivenLog, ticks: Partial<Ticks>): VisitsProjection {
  const visits = createVisitsProjection(topic)
  return { ...visits, ticks: { ...visits.ticks, ...ticks } }
}

async function publishInRounds(log: GivenLog, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await log.publish(givenEvents(50))
    await sleep(100)
  }
}

async function countRefusedCommits(metrics: Registry): Promise<number> {
  const metric = await metrics.getSingleMetric('projection_stale_commits_total')?.get()
  return metric?.values[0]?.value ?? 0
}

async function putCheckpoint(db: Db, topic: string, partition: number, nextOffset: bigint): Promise<void> {
  await db.$executeRaw(sql`
    INSERT INTO checkpoints (projection, topic, partition, next_offset)
    VALUES ('visits', ${topic}, ${partition}, ${nextOffset})`)
}

/** A database that waits for `happen` before each query. */
function beforeQueries(db: CommitDb, happen: () => Promise<void>): CommitDb {
  return { ...db, $queryRaw: <Row>(query: Sql) => happen().then(() => db.$queryRaw<Row>(query)) }
}

async function readOut({ topic, connection }: GivenLog): Promise<{ id: string; userId: string }[]> {
  const found: { id: string; userId: string }[] = []
  await readLog(connection, {
    topic: `${topic}.out`,
    from: new Map([[0, 0n]]),
    onBatch: (batch) => {
      for (const { value } of batch.records)
        found.push(JSON.parse(value?.toString() ?? '') as { id: string; userId: string })
    },
    until: 'end',
  })
  return found
}

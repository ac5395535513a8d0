import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog'
import { encodeRecord, type Reservation } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, prepareServiceSchema, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createPublisher } from '@nextvisit/log'
import { coreMigrations, createProjectionRunner } from '@nextvisit/projection'
import { replayService } from '@nextvisit/projection/replay'
import { createLogger } from '@nextvisit/service-kit'
import { createTestDatabase, createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { release, reserve } from './ledger.ts'
import { meteringProjection } from './metering-projection.ts'
import { tableRoles } from './table-roles.ts'

const ROLE = 'nextvisit_test_metering'
const EVENTS = 400

const ignore = (): void => {}

async function givenMetering() {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'not_this_one' })
  const adminUrl = database.url
  const migrations = [
    { directory: coreMigrations, table: '_core_migrations' },
    { directory: path.join(import.meta.dirname, '../prisma/migrations'), table: '_prisma_migrations' },
  ]
  await prepareServiceSchema({ adminUrl, schema: 'metering', role: ROLE, password: 'test', migrations })
  const db = openTestDb(Object.assign(new URL(adminUrl), { username: ROLE, password: 'test' }).href, 'metering')
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const projection = { ...meteringProjection, topics: [topic] }
  const catalog = staticCatalog([])
  const onFailure = vi.fn<(error: Error) => void>()
  const runner = createProjectionRunner({
    projection,
    db,
    connection,
    catalog,
    onFailure,
    logger: createLogger('spec', 'silent'),
    now: () => new Date(),
    serviceVersion: 'test',
    groupId: `metering.${topic}`,
    consumer: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
  })
  await runner.start()
  onTestFinished(runner.stop)
  const replay = () =>
    replayService(
      {
        database: { service: 'metering', schema: 'metering', role: ROLE },
        serviceVersion: 'test',
        projection,
        roles: tableRoles,
        openDb: ({ url, schema }) => openTestDb(url, schema),
      },
      { isDryRun: false, acceptsDifferences: false, restart: false },
      {
        adminUrl,
        connection,
        catalog,
        migrations,
        onBegin: ignore,
        onProgress: ignore,
        onStep: ignore,
        onPause: ignore,
      },
    )
  return { db, topic, connection, onFailure, replay }
}

function reservationOf(recordId: string): Reservation {
  const place = { organization: 'acme', project: 'shop', month: '2026-11' }
  return { kind: 'event', ...place, recordId, partition: 0, limit: 1_000_000 }
}

async function readLedger(db: Db) {
  const [counter] = await db.$queryRaw<{ count: bigint; pending: bigint }[]>(sql`
    SELECT count, pending FROM counters WHERE kind = 'event'`)
  const units = await db.$queryRaw<{ unit: string }[]>(sql`SELECT unit FROM reservations ORDER BY unit`)
  return { count: Number(counter?.count), pending: Number(counter?.pending), units: units.map(({ unit }) => unit) }
}

describe('a replay of metering', () => {
  it('loses and doubles no reservation that is made, folded or given back while it swaps', async () => {
    const { db, topic, connection, onFailure, replay } = await givenMetering()
    const publisher = createPublisher(connection)
    await publisher.start()
    onTestFinished(() => publisher.stop(1_000))
    const held = new Set<string>()
    let folded = 0
    /** One that is published, one that is kept, one that is given back. */
    const admit = async (): Promise<void> => {
      const [published, kept, returned] = [randomUUID(), randomUUID(), randomUUID()]
      const verdicts = await reserve(db, [published, kept, returned].map(reservationOf), new Date())
      expect(verdicts).toEqual(['granted', 'granted', 'granted'])
      held.add(kept)
      const fact = eventTracked({ id: published, received: '2026-11-02T10:00:00.000Z' })
      const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received })
      const record = { topic, partition: 0, key: fact.userId, value, headers }
      const { outcome } = await publisher.publish(record, performance.now() + 10_000)
      expect(outcome).toBe('published')
      folded += 1
      await release(db, [returned])
    }
    for (let from = 0; from < EVENTS; from += 20) await Promise.all(Array.from({ length: 20 }, admit))
    const stop = new AbortController()
    const load = (async () => {
      while (!stop.signal.aborted) await Promise.all(Array.from({ length: 4 }, admit))
    })()
    const { outcome, comparisons } = await replay().finally(() => stop.abort())
    await load
    expect(outcome).toBe('swapped')
    expect(comparisons.flatMap(({ onlyLive, onlyRebuilt }) => [onlyLive, onlyRebuilt]).some((rows) => rows > 0)).toBe(
      false,
    )
    const expected = { count: folded, pending: held.size, units: [...held].toSorted() }
    await expect.poll(() => readLedger(db), { timeout: 20_000 }).toEqual(expected)
    expect(onFailure).not.toHaveBeenCalled()
  })
})

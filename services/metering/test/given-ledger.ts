import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { evolveDraft, type FoldContext } from '@nextvisit/consumer'
import type { CounterKind, Reservation, UserFact } from '@nextvisit/contracts'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type CommitDbOptions, createAdapter, openCommitDb, sql } from '@nextvisit/database'
import { createTestDatabase, NO_PAST, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { metering } from '../src/consumer.ts'
import { createProjection, emptyDraft } from '../src/projection.ts'

export const RECEIVED = '2026-11-02T10:00:00.000Z'
export const NOW = new Date(RECEIVED)
const context: FoldContext = { catalog: staticCatalog([]), mode: 'live' }
const projection = createProjection()

/** Creates metering's tables for the tests of a file, with functions that fold into them. */
export function givenLedger() {
  let database: TestDatabase
  let prisma: PrismaClient
  let db: CommitDb
  const connect = (maxConnections: number) => {
    const options = { url: database.url, schema: 'metering', applicationName: 'spec', maxConnections }
    return new PrismaClient({ adapter: createAdapter(options) })
  }
  const openDb = (own: Partial<CommitDbOptions> = {}) =>
    openCommitDb({ url: database.url, schema: 'metering', applicationName: 'spec', ...own })
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), metering)
    prisma = connect(8)
    db = openDb()
  })
  afterAll(async () => {
    await db?.$disconnect()
    await prisma?.$disconnect()
    await database?.drop()
  })

  async function fold(facts: readonly UserFact[], partition = 0): Promise<void> {
    await db.executeAll(statementsFor(facts, partition))
  }

  const isDue = async (partition: number, instant: Date) =>
    (await projection.ticks?.due(prisma, instant, { ...context, partitions: [partition, 7] }))?.includes(partition)

  /** Ticks if a tick is due, like the core. */
  async function tick(instant: Date, partition = 0): Promise<void> {
    if (!(await isDue(partition, instant))) return
    const writes = await projection.ticks?.tick(prisma, instant, { ...context, partition, nextOffset: 0n, ...NO_PAST })
    await db.executeAll(writes?.statements ?? [])
  }

  async function counterOf({ organization }: Place, kind: CounterKind) {
    const where = { organization, kind }
    const folded = await prisma.counter.aggregate({ _sum: { count: true, fulfilled: true }, where })
    const reserved = await prisma.reservedRoom.aggregate({ _sum: { units: true }, where })
    const held = await prisma.reservation.aggregate({ _sum: { units: true }, where })
    const pending = Number(reserved._sum.units ?? 0) - Number(folded._sum.fulfilled ?? 0)
    return { count: Number(folded._sum.count ?? 0), pending, reservations: Number(held._sum.units ?? 0) }
  }

  /** Opens the one connection of another process, until the test ends. */
  function connectOnce(own: Partial<CommitDbOptions> = {}): CommitDb {
    const other = openDb({ maxConnections: 1, ...own })
    onTestFinished(() => other.$disconnect())
    return other
  }

  /** Begins a transaction of another process. It stays open until the test commits it. */
  async function begin() {
    const other = connectOnce()
    await other.$executeRaw(sql`BEGIN`)
    return { db: other, commit: () => other.$executeRaw(sql`COMMIT`) }
  }

  /** Resolves when as many transactions wait for locks. */
  const untilWaiting = (transactions: number) =>
    expect
      .poll(() =>
        prisma.$queryRaw(sql`
          SELECT count(*)::int AS waiting FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`),
      )
      .toEqual([{ waiting: transactions }])

  return {
    connectOnce,
    begin,
    untilWaiting,
    get prisma() {
      return prisma
    },
    fold,
    isDue,
    tick,
    counterOf,
  }
}

/** Returns the statements of a commit of these facts, all of one partition. */
export function statementsFor(facts: readonly UserFact[], partition = 0) {
  const place = { topic: 'user-events', partition, offset: 0n, timestampMs: NOW.getTime() }
  const records = facts.map((fact) => ({ fact, ...place }))
  const draft = evolveDraft(projection, emptyDraft(), records, context)
  return projection.save(draft).statements
}

/** Each test has an organization of its own, so none sees another's counters. */
export function newPlace() {
  return { organization: `acme-${randomUUID().slice(0, 8)}`, project: 'shop' }
}
export type Place = ReturnType<typeof newPlace>

export function event(place: Place, limit: number, recordId: string = randomUUID()): Reservation {
  return { kind: 'event', ...place, recordId, partition: 0, month: '2026-11', limit }
}

export const look = (place: Place, limit: number): Reservation => ({ ...event(place, limit), dryRun: true })

export function mau(place: Place, limit: number, userName: string, recordId: string = randomUUID()): Reservation {
  return { kind: 'mau', ...place, recordId, partition: 0, month: '2026-11', userId: userIdFixture(userName), limit }
}

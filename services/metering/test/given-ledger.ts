import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog'
import type { Reservation, UserFact } from '@nextvisit/contracts'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { createAdapter } from '@nextvisit/database'
import { executeAll } from '@nextvisit/projection'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, inject } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { metering } from '../src/consumer.ts'
import { meteringProjection } from '../src/metering-projection.ts'

export const RECEIVED = '2026-11-02T10:00:00.000Z'
export const NOW = new Date(RECEIVED)
const context = { catalog: staticCatalog([]), isRebuild: false, partition: 0 }

/** Metering's tables for the tests of a file, and what its projection does to them. */
export function givenLedger() {
  let database: TestDatabase
  let prisma: PrismaClient
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), metering)
    const adapter = createAdapter({ url: database.url, schema: 'metering', applicationName: 'spec', maxConnections: 8 })
    prisma = new PrismaClient({ adapter })
  })
  afterAll(async () => {
    await prisma?.$disconnect()
    await database?.drop()
  })

  async function fold(facts: readonly UserFact[]): Promise<void> {
    const draft = facts.reduce(
      (before, fact) =>
        meteringProjection.evolve(
          before,
          { fact, topic: 'user-events', partition: 0, offset: 0n, timestampMs: NOW.getTime() },
          context,
        ),
      meteringProjection.empty(),
    )
    await executeAll(prisma, meteringProjection.save(draft))
  }

  const isDue = async (partition: number, instant: Date) =>
    (await meteringProjection.due?.(prisma, instant, { ...context, partitions: [partition, 7] }))?.includes(partition)

  /** As the core does it: only where something is due. */
  async function tick(instant: Date): Promise<void> {
    if (!(await isDue(context.partition, instant))) return
    const statements = await meteringProjection.tick?.(prisma, instant, context)
    await executeAll(prisma, statements ?? [])
  }

  async function counterOf({ organization }: Place, kind: 'event' | 'mau') {
    const row = await prisma.counter.findFirst({ where: { organization, kind } })
    const reservations = await prisma.reservation.count({ where: { organization, kind } })
    return { count: Number(row?.count ?? 0), pending: Number(row?.pending ?? 0), reservations }
  }

  return {
    get prisma() {
      return prisma
    },
    fold,
    isDue,
    tick,
    counterOf,
  }
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

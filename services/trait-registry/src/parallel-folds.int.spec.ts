import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { evolveDraft } from '@nextvisit/consumer'
import type { EventTracked } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDb, createAdapter, openCommitDb, sql } from '@nextvisit/database'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { claimNames } from './claims.ts'
import { traitRegistry } from './consumer.ts'
import { readDefinitions } from './queries.ts'
import { createProjection } from './projection.ts'

const projection = createProjection({ countKeyPartitions: () => Promise.resolve(2) })
const context = { catalog: staticCatalog([]), mode: 'live' } as const

let database: TestDatabase
let prisma: PrismaClient
let own: CommitDb
let connect: (own?: { readonly maxConnections: number }) => CommitDb
let place: { readonly organization: string; readonly project: string }
beforeAll(async () => {
  database = await createTestDatabase(inject('databaseUrl'), traitRegistry)
  const options = { url: database.url, schema: 'registry', applicationName: 'spec' }
  prisma = new PrismaClient({ adapter: createAdapter(options) })
  connect = (limits) => openCommitDb({ ...options, ...limits })
  own = connect()
})
afterAll(async () => {
  await own?.$disconnect()
  await prisma?.$disconnect()
  await database?.drop()
})
beforeEach(() => {
  place = { organization: `acme-${randomUUID().slice(0, 8)}`, project: 'shop' }
})

/** Begins a transaction of another process. It stays open until the test commits it. */
async function begin() {
  const other = connect({ maxConnections: 1 })
  onTestFinished(() => other.$disconnect())
  await other.$executeRaw(sql`BEGIN`)
  return { db: other, commit: () => other.$executeRaw(sql`COMMIT`) }
}

async function fold(db: CommitDb, partition: number, facts: readonly EventTracked[]): Promise<void> {
  const records = facts.map((fact) => ({ fact, topic: 'user-events', partition, offset: 0n, timestampMs: 0 }))
  await db.executeAll(projection.save(evolveDraft(projection, new Map(), records, context)).statements)
}

const signedUp = (received: string) =>
  eventTracked({ ...place, slug: 'signed_up', eventName: `Signed Up ${received}`, received })

const claimOf = (slug: string) => ({
  kind: 'event' as const,
  ...place,
  recordId: randomUUID(),
  partition: 0,
  slugs: [slug],
  limit: 9,
  disabled: [],
})

async function readDefinition() {
  const { definitions } = await readDefinitions(prisma, { kind: 'event', ...place, limit: 10 })
  expect(definitions).toHaveLength(1)
  return definitions[0]
}

const [TEN, ELEVEN, NOON] = ['2026-11-02T10:00:00.000Z', '2026-11-02T11:00:00.000Z', '2026-11-02T12:00:00.000Z']

/** A statement that waits for a lock for 2 s fails (`lock_timeout`). */
const waiting = () =>
  prisma.$queryRaw(sql`
    SELECT count(*)::int AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`)

describe('a fold', () => {
  it('commits while another process has a fold of the same names open, and reads sum both', async () => {
    await fold(own, 0, [signedUp(TEN)])
    const other = await begin()
    await fold(other.db, 0, [signedUp(NOON)])
    await fold(own, 1, [signedUp(ELEVEN), signedUp(ELEVEN)])
    const first = { slug: 'signed_up', name: `Signed Up ${TEN}`, firstSeenAt: TEN }
    expect(await readDefinition()).toEqual({ ...first, lastSeenAt: ELEVEN, count: 3 })
    await other.commit()
    expect(await readDefinition()).toEqual({ ...first, lastSeenAt: NOON, count: 4 })
  })

  it('commits while a claim of the same project is open', async () => {
    await claimNames(prisma, [claimOf('signed_up')], new Date(TEN))
    const other = await begin()
    expect(await claimNames(other.db, [claimOf('another')], new Date(TEN))).toEqual([['new']])
    await fold(own, 0, [signedUp(TEN)])
    await other.commit()
    expect(await claimNames(prisma, [claimOf('signed_up'), claimOf('another')], new Date(TEN))).toEqual([
      ['registered'],
      ['claimed'],
    ])
  })

  it('waits for another fold with the same new name, which the earliest record names', async () => {
    const other = await begin()
    await fold(other.db, 0, [signedUp(ELEVEN)])
    const folded = fold(own, 1, [signedUp(TEN)])
    await expect.poll(waiting).toEqual([{ waiting: 1 }])
    await other.commit()
    await folded
    expect(await readDefinition()).toEqual({
      slug: 'signed_up',
      name: `Signed Up ${TEN}`,
      firstSeenAt: TEN,
      lastSeenAt: ELEVEN,
      count: 2,
    })
  })
})

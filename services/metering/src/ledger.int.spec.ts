import { staticCatalog } from '@nextvisit/catalog'
import type { Reservation, ReserveVerdict, UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { createAdapter, sql, transactionOptions } from '@nextvisit/database'
import { executeAll } from '@nextvisit/projection'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { release, reserve } from './ledger.ts'
import { meteringProjection } from './metering-projection.ts'
import { readUsage } from './queries.ts'

const RECEIVED = '2026-11-02T10:00:00.000Z'
const NOW = new Date(RECEIVED)
const context = { catalog: staticCatalog([]), isRebuild: false, partition: 0 }

let database: TestDatabase
let prisma: PrismaClient
beforeAll(async () => {
  const migrations = path.join(import.meta.dirname, '../prisma/migrations')
  database = await createTestDatabase(inject('databaseUrl'), { schema: 'metering', migrations })
  const adapter = createAdapter({ url: database.url, schema: 'metering', applicationName: 'spec', maxConnections: 8 })
  prisma = new PrismaClient({ adapter, transactionOptions })
})
afterAll(async () => {
  await prisma?.$disconnect()
  await database?.drop()
})

/** Each test has an organization of its own, so none sees another's counters. */
function newPlace() {
  return { organization: `acme-${randomUUID().slice(0, 8)}`, project: 'shop' }
}
type Place = ReturnType<typeof newPlace>
const byOrganization = (a: Place, b: Place) => (a.organization < b.organization ? -1 : 1)

function event(place: Place, limit: number, recordId: string = randomUUID()): Reservation {
  return { kind: 'event', ...place, recordId, partition: 0, month: '2026-11', limit }
}

const look = (place: Place, limit: number): Reservation => ({ ...event(place, limit), onlyLooks: true })

function mau(place: Place, limit: number, userName: string, recordId: string = randomUUID()): Reservation {
  return { kind: 'mau', ...place, recordId, partition: 0, month: '2026-11', userId: userIdFixture(userName), limit }
}

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

const later = (ms: number) => new Date(NOW.getTime() + ms)

describe('reserving (design.md, Metering)', () => {
  it('grants in order until the limit, and a refused one uses up nothing', async () => {
    const place = newPlace()
    const verdicts = await reserve(prisma, [event(place, 2), event(place, 2), event(place, 2)], NOW)
    expect(verdicts).toEqual(['granted', 'granted', 'held'])
    expect(await counterOf(place, 'event')).toEqual({ count: 0, pending: 2, reservations: 2 })
    expect(await reserve(prisma, [event(place, 2), event(place, 3)], NOW)).toEqual(['held', 'held'])
    expect(await reserve(prisma, [event(place, 3)], NOW)).toEqual(['granted'])
  })

  it('draws on the organization for events, whatever the project, and on the project for active users', async () => {
    const place = newPlace()
    const other = { ...place, project: 'blog' }
    expect(await reserve(prisma, [event(place, 1), event(other, 1)], NOW)).toEqual(['granted', 'held'])
    expect(await reserve(prisma, [mau(place, 1, 'ada'), mau(other, 1, 'ada')], NOW)).toEqual(['granted', 'granted'])
  })

  it('changes no verdict when the same record asks again, and takes no second unit', async () => {
    const place = newPlace()
    const asked = [event(place, 1), mau(place, 1, 'ada')]
    expect(await reserve(prisma, asked, NOW)).toEqual(['granted', 'granted'])
    expect(await reserve(prisma, [...asked, ...asked], NOW)).toEqual(['granted', 'granted', 'granted', 'granted'])
    expect(await counterOf(place, 'event')).toEqual({ count: 0, pending: 1, reservations: 1 })
    expect(await counterOf(place, 'mau')).toEqual({ count: 0, pending: 1, reservations: 1 })
  })

  it('takes one unit for the parallel first identifies of a user, and none for a user who counts already', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place, userName: 'ada' })])
    const asked = [mau(place, 2, 'ada'), mau(place, 2, 'bob'), mau(place, 2, 'bob'), mau(place, 2, 'eve')]
    expect(await reserve(prisma, asked, NOW)).toEqual(['counted', 'granted', 'granted', 'held'])
    expect(await counterOf(place, 'mau')).toEqual({ count: 1, pending: 1, reservations: 1 })
  })

  it('does not refuse the copy of a record that counts already, for 24 h', async () => {
    const place = newPlace()
    const asked = event(place, 1)
    await fold([eventTracked({ ...place, id: asked.recordId, keyed: true })])
    await prisma.$executeRaw(
      sql`INSERT INTO keyed_records VALUES (${asked.recordId}::uuid, 0, ${RECEIVED}::timestamptz)`,
    )
    expect(await reserve(prisma, [asked, event(place, 1)], later(86_399_999))).toEqual(['counted', 'exhausted'])
    expect(await counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
    expect(await reserve(prisma, [asked], later(86_400_000))).toEqual(['exhausted'])
  })

  it('lets exactly K of N parallel questions pass at a limit with room for K', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 12 }), async (folded, room) => {
        const place = newPlace()
        await fold(Array.from({ length: folded }, () => eventTracked({ ...place })))
        const asks = Array.from({ length: 16 }, () => [event(place, folded + room), event(place, folded + room)])
        const verdicts = await Promise.all(asks.map((batch) => reserve(prisma, batch, NOW)))
        expect(verdicts.flat().filter((verdict) => verdict === 'granted')).toHaveLength(room)
        expect(await counterOf(place, 'event')).toEqual({ count: folded, pending: room, reservations: room })
      }),
      { numRuns: 10 },
    )
  })
})

describe('room that is only held', () => {
  it('is told from room that is used up, of events as of active users', async () => {
    const place = newPlace()
    await fold([eventTracked({ ...place }), identifyRequested({ ...place, userName: 'ada' })])
    const asked = [event(place, 2), event(place, 2), event(place, 1), event(place, 0)]
    expect(await reserve(prisma, asked, NOW)).toEqual(['granted', 'held', 'exhausted', 'exhausted'])
    const users = [mau(place, 2, 'bob'), mau(place, 2, 'eve'), mau(place, 1, 'eve')]
    expect(await reserve(prisma, users, NOW)).toEqual(['granted', 'held', 'exhausted'])
  })

  it('is left alone by who only looks', async () => {
    const place = newPlace()
    expect(await reserve(prisma, [look(place, 1), look(place, 0)], NOW)).toEqual(['room', 'exhausted'])
    expect(await reserve(prisma, [event(place, 1)], NOW)).toEqual(['granted'])
    expect(await reserve(prisma, [look(place, 1)], NOW)).toEqual(['held'])
    expect(await counterOf(place, 'event')).toEqual({ count: 0, pending: 1, reservations: 1 })
  })

  it('goes to who asks again: of N, some of which give back, exactly as many count as there is room for', async () => {
    const fates = fc.array(fc.constantFrom('count' as const, 'give back' as const), { minLength: 1, maxLength: 24 })
    await fc.assert(
      fc.asyncProperty(fates, fc.integer({ min: 0, max: 12 }), async (lives, room) => {
        const place = newPlace()
        const ends = await Promise.all(lives.map((fate) => askUntilDecided(place, room, fate)))
        const keepers = lives.filter((fate) => fate === 'count').length
        expect(ends.filter((end) => end === 'counted')).toHaveLength(Math.min(room, keepers))
        expect(await counterOf(place, 'event')).toEqual({ count: Math.min(room, keepers), pending: 0, reservations: 0 })
      }),
      { numRuns: 10 },
    )
  })
})

/** A request as the gateway handles it: asks again while room is held, and then counts, or is refused by the cap. */
async function askUntilDecided(place: Place, limit: number, fate: 'count' | 'give back') {
  const asked = event(place, limit)
  for (;;) {
    const [verdict] = await reserve(prisma, [asked], NOW)
    if (verdict === 'exhausted') return 'exhausted'
    if (verdict !== 'granted') continue
    if (fate === 'give back') await release(prisma, [asked.recordId])
    else await fold([eventTracked({ ...place, id: asked.recordId })])
    return fate === 'count' ? 'counted' : 'given back'
  }
}

describe('giving back', () => {
  it('frees the unit of a record that was not published', async () => {
    const place = newPlace()
    const recordId = randomUUID()
    await reserve(prisma, [event(place, 1, recordId), mau(place, 1, 'ada', recordId)], NOW)
    await release(prisma, [recordId, randomUUID()])
    expect(await counterOf(place, 'event')).toEqual({ count: 0, pending: 0, reservations: 0 })
    expect(await counterOf(place, 'mau')).toEqual({ count: 0, pending: 0, reservations: 0 })
  })

  it('keeps a unit that another record of the user still needs', async () => {
    const place = newPlace()
    const [first, second] = [mau(place, 1, 'ada'), mau(place, 1, 'ada')]
    await reserve(prisma, [first, second], NOW)
    await release(prisma, [first.recordId])
    expect(await counterOf(place, 'mau')).toEqual({ count: 0, pending: 1, reservations: 1 })
    await release(prisma, [second.recordId])
    expect(await counterOf(place, 'mau')).toEqual({ count: 0, pending: 0, reservations: 0 })
  })

  it('keeps the unit of a record that asked twice, since its first publish may be in the log', async () => {
    const place = newPlace()
    const retried = event(place, 1)
    await reserve(prisma, [retried], NOW)
    await reserve(prisma, [retried], NOW)
    await release(prisma, [retried.recordId])
    expect(await reserve(prisma, [event(place, 1)], NOW)).toEqual(['held'])
    await fold([eventTracked({ ...place, id: retried.recordId })])
    expect(await counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
  })

  it('drops what was not folded for 60 s, of the partition that ticks', async () => {
    const place = newPlace()
    await reserve(prisma, [event(place, 9), { ...event(place, 9), partition: 1 }], NOW)
    await reserve(prisma, [event(place, 9)], later(1_000))
    await tick(later(59_999))
    expect(await counterOf(place, 'event')).toMatchObject({ pending: 3, reservations: 3 })
    await tick(later(60_000))
    expect(await counterOf(place, 'event')).toMatchObject({ pending: 2, reservations: 2 })
    expect(await isDue(0, later(60_000))).toBe(false)
    expect(await isDue(1, later(60_000))).toBe(true)
  })

  it('begins the 60 s again when a record asks again', async () => {
    const place = newPlace()
    const retried = event(place, 1)
    await reserve(prisma, [retried], NOW)
    await reserve(prisma, [retried], later(30_000))
    await tick(later(60_000))
    expect(await counterOf(place, 'event')).toMatchObject({ pending: 1 })
  })
})

describe('folding (design.md, who folds a limit grants it)', () => {
  it('turns a reservation into a count', async () => {
    const place = newPlace()
    const tracked = eventTracked({ ...place })
    const identified = identifyRequested({ ...place, userName: 'ada' })
    await reserve(prisma, [event(place, 9, tracked.id), mau(place, 9, 'ada', identified.id), mau(place, 9, 'ada')], NOW)
    await fold([tracked, identified])
    expect(await counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
    expect(await counterOf(place, 'mau')).toEqual({ count: 1, pending: 0, reservations: 0 })
  })

  it('shows a month as the plan sees it: events of the organization, the rest of the project', async () => {
    const place = newPlace()
    const other = { ...place, project: 'blog' }
    await fold([
      identifyRequested({
        ...place,
        operations: { set: { plan: 'pro', email: 'ada@example.com', old: 1 }, unset: ['x'] },
      }),
      identifyRequested({ ...other, userName: 'bob' }),
      eventTracked({ ...place }),
      eventTracked({ ...other, slug: 'read', eventName: 'Read' }),
      eventTracked({ ...place, slug: 'tried', eventName: 'Tried', metered: false, environment: 'T' }),
    ])
    await fold([
      eventTracked({ ...place, received: '2026-12-01T00:00:00.000Z', slug: 'new', eventName: 'New' }),
      eventTracked({ ...place, received: '2026-10-31T23:59:59.999Z' }),
    ])
    const usageOf = (month: string) => readUsage(prisma, { ...place, month }, new Set(['old']))
    const november = { month: '2026-11', events: 2, monthlyActiveUsers: 1, uniqueEvents: 2, uniqueTraits: 1 }
    expect(await usageOf('2026-11')).toEqual(november)
    expect(await usageOf('2026-10')).toMatchObject({ events: 1, monthlyActiveUsers: 0, uniqueEvents: 1 })
    expect(await usageOf('2026-12')).toMatchObject({ events: 1, monthlyActiveUsers: 0, uniqueEvents: 3 })
    const rows = await prisma.usage.findMany({ where: { ...place, month: '2026-11' }, orderBy: { environment: 'asc' } })
    expect(rows).toMatchObject([
      { environment: 'P', events: 1n, identifies: 1n, visits: 0n },
      { environment: 'T', events: 1n, identifies: 0n, visits: 0n },
    ])
  })

  it('counts of an import only the names that it brings in, and the user at their first live identify', async () => {
    const place = newPlace()
    const imported = { ...place, imported: true, metered: false } as const
    const operations = { set: { plan: 'pro' } }
    await fold([identifyRequested({ ...imported, operations }), eventTracked({ ...imported, slug: 'signed_up' })])
    const names = { uniqueEvents: 1, uniqueTraits: 1 }
    const november = () => readUsage(prisma, { ...place, month: '2026-11' }, new Set())
    expect(await november()).toMatchObject({ events: 0, monthlyActiveUsers: 0, ...names })
    expect(await prisma.usage.count({ where: place })).toBe(0)
    await fold([identifyRequested({ ...place, operations })])
    expect(await november()).toMatchObject({ events: 0, monthlyActiveUsers: 1, ...names })
  })

  it('counts what nobody reserved, only metered events, and a user once a month', async () => {
    const place = newPlace()
    await fold([
      eventTracked({ ...place }),
      eventTracked({ ...place, metered: false, environment: 'T' }),
      identifyRequested({ ...place, environment: 'T' }),
    ])
    await fold([identifyRequested({ ...place, source: 'sdk' }), identifyRequested({ ...place, userName: 'bob' })])
    expect(await counterOf(place, 'event')).toMatchObject({ count: 1 })
    expect(await counterOf(place, 'mau')).toMatchObject({ count: 2 })
  })
})

const isRefused = (verdict: ReserveVerdict) => verdict === 'held' || verdict === 'exhausted'

/** What one caller does with its record, as the gateway would. */
async function liveOneRecord(place: Place, limit: number, fate: 'publish' | 'release' | 'lose' | 'repeat') {
  const tracked = eventTracked({ ...place })
  const identified = identifyRequested({ ...place, userName: `user-${Math.floor(Math.random() * 5)}` })
  const asked = [event(place, limit, tracked.id), mau(place, limit, identified.userName, identified.id)]
  const [forEvent, forUser] = (await reserve(prisma, asked, NOW)) as [ReserveVerdict, ReserveVerdict]
  if (fate === 'repeat') await reserve(prisma, asked, NOW)
  if (fate === 'release') await release(prisma, [tracked.id, identified.id])
  if (fate !== 'publish' && fate !== 'repeat') return []
  const landed = [...(isRefused(forEvent) ? [] : [tracked]), ...(isRefused(forUser) ? [] : [identified])]
  await fold(landed)
  return landed
}

describe('everything at once', () => {
  it('never deadlocks, in whatever order batches and folds name counters, made already or not', async () => {
    for (let round = 0; round < 30; round += 1) {
      const [known, ...fresh] = Array.from({ length: 4 }, newPlace).toSorted(byOrganization) as [Place, ...Place[]]
      const first = event(known, 1_000)
      await reserve(prisma, [first], NOW)
      const shuffled = () => [known, ...fresh].toSorted(() => Math.random() - 0.5)
      await Promise.all([
        reserve(prisma, [...shuffled().map((place) => event(place, 1_000)), first], NOW),
        fold(shuffled().map((place) => eventTracked({ ...place }))),
        release(prisma, [first.recordId]),
        fold([eventTracked({ ...known, id: first.recordId }), ...fresh.map((place) => eventTracked({ ...place }))]),
        reserve(prisma, [first, ...shuffled().map((place) => event(place, 1_000))], NOW),
      ])
      for (const place of fresh) expect(await counterOf(place, 'event')).toMatchObject({ count: 2, pending: 2 })
    }
  })

  it('keeps every sum exact, never passes a limit and never deadlocks', async () => {
    const fates = fc.array(fc.constantFrom('publish', 'release', 'lose', 'repeat'), { minLength: 20, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(fates, fc.integer({ min: 1, max: 30 }), async (lives, limit) => {
        const places = [newPlace(), newPlace()] as const
        const landed = await Promise.all([
          ...lives.map((fate, index) => liveOneRecord(places[index % 2] as Place, limit, fate as 'publish')),
          tick(later(59_000)).then(() => []),
        ])
        for (const place of places) {
          const own = landed.flat().filter((fact) => fact.organization === place.organization)
          const events = own.filter((fact) => fact.type === 'EventTracked').length
          const users = new Set(own.filter((fact) => fact.type === 'IdentifyRequested').map((fact) => fact.userId)).size
          const [eventCounter, mauCounter] = [await counterOf(place, 'event'), await counterOf(place, 'mau')]
          expect(eventCounter).toMatchObject({ count: events, pending: eventCounter.reservations })
          expect(mauCounter).toMatchObject({ count: users, pending: mauCounter.reservations })
          expect(eventCounter.count + eventCounter.pending).toBeLessThanOrEqual(limit)
          expect(mauCounter.count + mauCounter.pending).toBeLessThanOrEqual(limit)
        }
        await tick(later(60_000))
        for (const place of places) {
          expect(await counterOf(place, 'event')).toMatchObject({ pending: 0, reservations: 0 })
          expect(await counterOf(place, 'mau')).toMatchObject({ pending: 0, reservations: 0 })
        }
      }),
      { numRuns: 10 },
    )
  })
})

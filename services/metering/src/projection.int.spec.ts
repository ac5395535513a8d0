import type { ReserveVerdict } from '@nextvisit/contracts'
import { answerGiven, eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, type Place } from '../test/given-ledger.ts'
import { release, reserve } from './ledger.ts'
import { readUsage } from './queries.ts'

const ledger = givenLedger()
const later = (ms: number) => new Date(NOW.getTime() + ms)
const byOrganization = (a: Place, b: Place) => (a.organization < b.organization ? -1 : 1)

describe('a fold (design.md, Metering)', () => {
  it('replaces a reservation by a count', async () => {
    const place = newPlace()
    const tracked = eventTracked({ ...place })
    const identified = identifyRequested({ ...place, userName: 'ada' })
    await reserve(
      ledger.prisma,
      [event(place, 9, tracked.id), mau(place, 9, 'ada', identified.id), mau(place, 9, 'ada')],
      NOW,
    )
    await ledger.fold([tracked, identified])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, pending: 0, reservations: 0 })
  })

  it('counts a month in the terms of the plan: events of the organization, everything else of the project', async () => {
    const place = newPlace()
    const other = { ...place, project: 'blog' }
    await ledger.fold([
      identifyRequested({
        ...place,
        operations: { set: { plan: 'pro', email: 'ada@example.com', old: 1 }, unset: ['x'] },
      }),
      identifyRequested({ ...other, userName: 'bob' }),
      eventTracked({ ...place }),
      eventTracked({ ...other, slug: 'read', eventName: 'Read' }),
      eventTracked({ ...place, slug: 'tried', eventName: 'Tried', metered: false, environment: 'T' }),
    ])
    await ledger.fold([
      eventTracked({ ...place, received: '2026-12-01T00:00:00.000Z', slug: 'new', eventName: 'New' }),
      eventTracked({ ...place, received: '2026-10-31T23:59:59.999Z' }),
    ])
    const usageOf = (month: string) => readUsage(ledger.prisma, { ...place, month }, new Set(['old']))
    const november = { month: '2026-11', events: 2, monthlyActiveUsers: 1, uniqueEvents: 2, uniqueTraits: 1 }
    expect(await usageOf('2026-11')).toEqual(november)
    expect(await usageOf('2026-10')).toMatchObject({ events: 1, monthlyActiveUsers: 0, uniqueEvents: 1 })
    expect(await usageOf('2026-12')).toMatchObject({ events: 1, monthlyActiveUsers: 0, uniqueEvents: 3 })
    const rows = await ledger.prisma.usage.findMany({
      where: { ...place, month: '2026-11' },
      orderBy: { environment: 'asc' },
    })
    expect(rows).toMatchObject([
      { environment: 'P', events: 1n, identifies: 1n, visits: 0n },
      { environment: 'T', events: 1n, identifies: 0n, visits: 0n },
    ])
  })

  it('counts no answer: neither as an event nor as an active user', async () => {
    const place = newPlace()
    const tracked = eventTracked({ ...place })
    await ledger.fold([tracked, answerGiven({ ...place }), answerGiven({ ...place, source: 'admin', keyed: true })])
    expect(await readUsage(ledger.prisma, { ...place, month: '2026-11' }, new Set())).toMatchObject({
      events: 1,
      monthlyActiveUsers: 0,
    })
    const rows = await ledger.prisma.usage.findMany({ where: { ...place } })
    expect(rows).toMatchObject([{ events: 1n, identifies: 0n, visits: 0n }])
  })

  it('keeps the first month of a name, in any order of the batch', async () => {
    const place = newPlace()
    const december = () => eventTracked({ ...place, received: '2026-12-01T00:00:00.000Z' })
    await ledger.fold([december(), eventTracked({ ...place }), december()])
    const usageOf = (month: string) => readUsage(ledger.prisma, { ...place, month }, new Set())
    expect([await usageOf('2026-10'), await usageOf('2026-11')]).toMatchObject([
      { uniqueEvents: 0 },
      { uniqueEvents: 1 },
    ])
  })

  it('counts only the names of an import, and the user at the first live identify', async () => {
    const place = newPlace()
    const imported = { ...place, imported: true, metered: false } as const
    const operations = { set: { plan: 'pro' } }
    await ledger.fold([
      identifyRequested({ ...imported, operations }),
      eventTracked({ ...imported, slug: 'signed_up' }),
    ])
    const names = { uniqueEvents: 1, uniqueTraits: 1 }
    const november = () => readUsage(ledger.prisma, { ...place, month: '2026-11' }, new Set())
    expect(await november()).toMatchObject({ events: 0, monthlyActiveUsers: 0, ...names })
    expect(await ledger.prisma.usage.count({ where: place })).toBe(0)
    await ledger.fold([identifyRequested({ ...place, operations })])
    expect(await november()).toMatchObject({ events: 0, monthlyActiveUsers: 1, ...names })
  })

  it('counts unreserved units, only metered events, and a user once a month', async () => {
    const place = newPlace()
    await ledger.fold([
      eventTracked({ ...place }),
      eventTracked({ ...place, metered: false, environment: 'T' }),
      identifyRequested({ ...place, environment: 'T' }),
    ])
    await ledger.fold([
      identifyRequested({ ...place, source: 'sdk' }),
      identifyRequested({ ...place, userName: 'bob' }),
    ])
    expect(await ledger.counterOf(place, 'event')).toMatchObject({ count: 1 })
    expect(await ledger.counterOf(place, 'mau')).toMatchObject({ count: 2 })
  })
})

/** A dead letter may be tried again at any time, and a partition may be halted for as long (decision 0013). */
describe('a record of a past month', () => {
  it('counts its user once in that month, as a replay does', async () => {
    const place = newPlace()
    const ofAda = () => identifyRequested({ ...place, userName: 'ada' })
    await ledger.fold([ofAda()])
    const inAYear = new Date('2027-11-02T10:00:00.000Z')
    await ledger.fold([identifyRequested({ ...place, userName: 'ada', received: inAYear.toISOString() })])
    await reserve(ledger.prisma, [event(place, 9)], NOW) // so that a tick is due
    await ledger.tick(inAYear)
    await ledger.fold([ofAda(), identifyRequested({ ...place, userName: 'bob' })])
    const november = await readUsage(ledger.prisma, { ...place, month: '2026-11' }, new Set())
    expect(november.monthlyActiveUsers).toBe(2)
  })
})

const isRefused = (verdict: ReserveVerdict) => verdict === 'held' || verdict === 'no-room'

async function fiveTimes(act: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < 5; time += 1) await act()
}

/** Users who are all in different partitions. */
const PARTITIONS = 5

async function tickAll(instant: Date): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition += 1) await ledger.tick(instant, partition)
}

const life = fc.record({
  fate: fc.constantFrom('publish', 'release', 'lose', 'repeat'),
  partition: fc.nat({ max: PARTITIONS - 1 }),
})
type Life = typeof life extends fc.Arbitrary<infer Value> ? Value : never

/** Reserves room for one record, and ends it by its fate, like a gateway. */
async function liveOneRecord(place: Place, limit: number, { fate, partition }: Life) {
  const userName = `user-${partition}`
  const tracked = eventTracked({ ...place, userName })
  const identified = identifyRequested({ ...place, userName })
  const asked = [event(place, limit, tracked.id), mau(place, limit, userName, identified.id)].map((one) => ({
    ...one,
    partition,
  }))
  const [forEvent, forUser] = (await reserve(ledger.prisma, asked, NOW)) as [ReserveVerdict, ReserveVerdict]
  if (fate === 'repeat') await reserve(ledger.prisma, asked, NOW)
  if (fate === 'release') await release(ledger.prisma, [tracked.id, identified.id])
  if (fate !== 'publish' && fate !== 'repeat') return []
  const landed = [...(isRefused(forEvent) ? [] : [tracked]), ...(isRefused(forUser) ? [] : [identified])]
  await ledger.fold(landed, partition)
  return landed
}

describe('any mix of grants, releases and folds', () => {
  it('never deadlocks, in any order of new and known counters', async () => {
    const inAnyOrder = fc.asyncProperty(fc.gen(), async (gen) => {
      const [known, ...fresh] = Array.from({ length: 4 }, newPlace).toSorted(byOrganization) as [Place, ...Place[]]
      const first = event(known, 1_000)
      await reserve(ledger.prisma, [first], NOW)
      const shuffled = () => gen(fc.shuffledSubarray<Place>, [known, ...fresh], { minLength: 4 })
      await Promise.all([
        reserve(ledger.prisma, [...shuffled().map((place) => event(place, 1_000)), first], NOW),
        ledger.fold(shuffled().map((place) => eventTracked({ ...place }))),
        release(ledger.prisma, [first.recordId]),
        ledger.fold(
          [eventTracked({ ...known, id: first.recordId }), ...fresh.map((place) => eventTracked({ ...place }))],
          1,
        ),
        reserve(ledger.prisma, [first, ...shuffled().map((place) => event(place, 1_000))], NOW),
      ])
      for (const place of fresh) expect(await ledger.counterOf(place, 'event')).toMatchObject({ count: 2, pending: 2 })
    })
    await fc.assert(inAnyOrder, { numRuns: 30 })
  })

  it('never deadlocks when a record is reserved again while it is released and folded', async () => {
    for (let round = 0; round < 10; round += 1) {
      const place = newPlace()
      const asked = event(place, 1_000)
      await Promise.all([
        fiveTimes(() => reserve(ledger.prisma, [asked], NOW)),
        fiveTimes(() => reserve(ledger.prisma, [asked], NOW)),
        fiveTimes(() => release(ledger.prisma, [asked.recordId])),
        fiveTimes(() => release(ledger.prisma, [asked.recordId])),
        fiveTimes(() => ledger.fold([eventTracked({ ...place, id: asked.recordId })])),
      ])
      const { pending, reservations } = await ledger.counterOf(place, 'event')
      expect(pending).toBe(reservations)
    }
  })

  it('keeps every sum exact, never exceeds a limit and never deadlocks', async () => {
    const lives = fc.array(life, { minLength: 20, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(lives, fc.integer({ min: 1, max: 30 }), async (allLives, limit) => {
        const places = [newPlace(), newPlace()] as const
        const landed = await Promise.all([
          ...allLives.map((own, index) => liveOneRecord(places[index % 2] as Place, limit, own)),
          tickAll(later(59_000)).then(() => []),
        ])
        for (const place of places) {
          const own = landed.flat().filter((fact) => fact.organization === place.organization)
          const events = own.filter((fact) => fact.type === 'EventTracked').length
          const users = new Set(own.filter((fact) => fact.type === 'IdentifyRequested').map((fact) => fact.userId)).size
          const [eventCounter, mauCounter] = [
            await ledger.counterOf(place, 'event'),
            await ledger.counterOf(place, 'mau'),
          ]
          expect(eventCounter).toMatchObject({ count: events, pending: eventCounter.reservations })
          expect(mauCounter).toMatchObject({ count: users, pending: mauCounter.reservations })
          expect(eventCounter.count + eventCounter.pending).toBeLessThanOrEqual(limit)
          expect(mauCounter.count + mauCounter.pending).toBeLessThanOrEqual(limit)
        }
        await tickAll(later(60_000))
        for (const place of places) {
          expect(await ledger.counterOf(place, 'event')).toMatchObject({ pending: 0, reservations: 0 })
          expect(await ledger.counterOf(place, 'mau')).toMatchObject({ pending: 0, reservations: 0 })
        }
      }),
      { numRuns: 10 },
    )
  })
})

import { randomUUID } from 'node:crypto'
import type { LeaseQuestion, UserFact } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { event, givenLedger, newPlace, NOW, type Place, statementsFor } from '../test/given-ledger.ts'
import { leaseRoom, returnLeased } from './leases.ts'
import { release, reserve } from './ledger.ts'

const ledger = givenLedger()
const later = (ms: number) => new Date(NOW.getTime() + ms)
const eventsOf = (place: Place) => ledger.counterOf(place, 'event')

/** A question for this number of units in each of these partitions: `[2, 3]` is 2 of partition 0, and 3 of partition 1. */
function question({ organization }: Place, limit: number, units: readonly number[]): LeaseQuestion {
  const leases = units.map((own, partition) => ({ lease: randomUUID(), partition, units: own }))
  return { organization, month: '2026-11', limit, leases }
}

/** Units that are leased to a gateway, by partition. */
async function givenLeases(place: Place, limit: number, units: readonly number[]): Promise<string[]> {
  const asked = question(place, limit, units)
  expect(await leaseRoom(ledger.prisma, [asked], NOW)).toEqual([true])
  return asked.leases.map(({ lease }) => lease)
}

const leasedEvents = (place: Place, lease: string | undefined, count: number) =>
  Array.from({ length: count }, () => eventTracked({ ...place, ...(lease && { lease }) }))
const giveBack = ({ organization }: Place, lease: string | undefined, units: number) =>
  returnLeased(ledger.prisma, [{ organization, month: '2026-11', lease: lease ?? '', units }])

describe('a lease (decision 0017)', () => {
  it('takes at most a sixteenth of the free room, and each question whole or not at all', async () => {
    const place = newPlace()
    await ledger.fold(leasedEvents(place, undefined, 4))
    await reserve(ledger.prisma, [event(place, 100)], NOW)
    const lease = (limit: number, units: readonly number[]) =>
      leaseRoom(ledger.prisma, [question(place, limit, units)], NOW)
    expect(await lease(52, [1, 2])).toEqual([false])
    expect(await eventsOf(place)).toEqual({ count: 4, pending: 1, reservations: 1 })
    expect(await lease(53, [1, 2])).toEqual([true])
    expect(await eventsOf(place)).toEqual({ count: 4, pending: 4, reservations: 4 })
    expect(await lease(55, [1, 2])).toEqual([false])
  })

  it('judges questions in order, and each organization and month for itself', async () => {
    const [place, other] = [newPlace(), newPlace()]
    const asked = [
      question(place, 32, [1]),
      question(other, 16, [1]),
      question(place, 32, [1]),
      question(place, 32, [1]),
      { ...question(place, 16, [1]), month: '2026-12' },
    ]
    expect(await leaseRoom(ledger.prisma, asked, NOW)).toEqual([true, true, true, false, true])
  })

  it('takes nothing again for a repeated question', async () => {
    const place = newPlace()
    const asked = question(place, 1_000, [2, 3])
    await leaseRoom(ledger.prisma, [asked], NOW)
    expect(await leaseRoom(ledger.prisma, [asked], NOW)).toEqual([true])
    expect(await eventsOf(place)).toEqual({ count: 0, pending: 5, reservations: 5 })
  })

  it('holds room against single reservations', async () => {
    const place = newPlace()
    await givenLeases(place, 32, [2])
    const asked = Array.from({ length: 31 }, () => event(place, 32))
    const verdicts = await reserve(ledger.prisma, asked, NOW)
    expect(verdicts.filter((verdict) => verdict === 'granted')).toHaveLength(30)
    expect(verdicts.at(-1)).toBe('held')
  })
})

describe('folding a record that used a lease', () => {
  it('turns a unit of its lease into a count, and ends the lease with the last', async () => {
    const place = newPlace()
    const [first, second] = await givenLeases(place, 1_000, [3, 1])
    await ledger.fold([...leasedEvents(place, first, 2), ...leasedEvents(place, undefined, 1)], 0)
    await ledger.fold(leasedEvents(place, second, 1), 1)
    expect(await eventsOf(place)).toEqual({ count: 4, pending: 1, reservations: 1 })
    await ledger.fold(leasedEvents(place, first, 1), 0)
    expect(await eventsOf(place)).toEqual({ count: 5, pending: 0, reservations: 0 })
    expect(await ledger.prisma.reservation.count({ where: { organization: place.organization } })).toBe(0)
  })

  it('counts the event although the lease was dropped', async () => {
    const place = newPlace()
    const [lease] = await givenLeases(place, 1_000, [3])
    await ledger.tick(later(60_000))
    await ledger.fold(leasedEvents(place, lease, 2))
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 0, reservations: 0 })
  })

  it('ends the reservation of a record that was published at the second attempt', async () => {
    const place = newPlace()
    const retried = event(place, 1_000)
    await reserve(ledger.prisma, [retried], NOW)
    const [lease] = await givenLeases(place, 1_000, [2])
    const fact = eventTracked({ ...place, id: retried.recordId, keyed: true, ...(lease && { lease }) })
    await ledger.fold([fact])
    expect(await eventsOf(place)).toEqual({ count: 1, pending: 1, reservations: 1 })
  })
})

describe('giving a lease back', () => {
  it('frees the unspent units, however many are folded by then', async () => {
    const place = newPlace()
    const [lease] = await givenLeases(place, 1_000, [5])
    await ledger.fold(leasedEvents(place, lease, 1))
    await giveBack(place, lease, 3)
    expect(await eventsOf(place)).toEqual({ count: 1, pending: 1, reservations: 1 })
    await ledger.fold(leasedEvents(place, lease, 1))
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 0, reservations: 0 })
  })

  it('frees nothing twice: a call may come twice, late, or in the wrong order', async () => {
    const place = newPlace()
    const [lease] = await givenLeases(place, 1_000, [5])
    for (const units of [2, 2, 3, 2, 3]) await giveBack(place, lease, units)
    expect(await eventsOf(place)).toEqual({ count: 0, pending: 2, reservations: 2 })
    await giveBack(place, lease, 5)
    await giveBack(place, lease, 5)
    await giveBack(place, randomUUID(), 5)
    expect(await eventsOf(place)).toEqual({ count: 0, pending: 0, reservations: 0 })
  })

  it('is not done by the release of a record, which frees no leased unit', async () => {
    const place = newPlace()
    const [lease = ''] = await givenLeases(place, 1_000, [5])
    await release(ledger.prisma, [lease])
    expect(await eventsOf(place)).toMatchObject({ pending: 5, reservations: 5 })
  })

  it('is left to the tick of its partition after 60 s if the gateway is gone', async () => {
    const place = newPlace()
    const [first] = await givenLeases(place, 1_000, [5, 4])
    await ledger.fold(leasedEvents(place, first, 2))
    await ledger.tick(later(59_999))
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 7, reservations: 7 })
    await ledger.tick(later(60_000))
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 4, reservations: 4 })
    expect(await ledger.isDue(1, later(60_000))).toBe(true)
  })
})

describe('a lease between its fold and its return', () => {
  it('waits with its return for a concurrent fold, and returns the rest', async () => {
    const place = newPlace()
    const [lease] = await givenLeases(place, 1_000, [5])
    const other = await ledger.begin()
    await other.db.executeAll(statementsFor(leasedEvents(place, lease, 2)))
    const returned = giveBack(place, lease, 3)
    await ledger.untilWaiting(1)
    await other.commit()
    await returned
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 0, reservations: 0 })
  })

  it('waits with its fold for a concurrent return, and folds the rest', async () => {
    const place = newPlace()
    const [lease] = await givenLeases(place, 1_000, [5])
    const other = await ledger.begin()
    const returned = [{ organization: place.organization, month: '2026-11', lease: lease ?? '', units: 3 }]
    await returnLeased(other.db, returned)
    const folded = ledger.fold(leasedEvents(place, lease, 2))
    await ledger.untilWaiting(1)
    await other.commit()
    await folded
    expect(await eventsOf(place)).toEqual({ count: 2, pending: 0, reservations: 0 })
  })

  it('does not deadlock when several are folded and returned at once', async () => {
    const place = newPlace()
    const leases = (await Promise.all(Array.from({ length: 12 }, () => givenLeases(place, 10_000, [4])))).flat()
    const descending = leases.toSorted((one, two) => (one < two ? 1 : -1))
    const other = await ledger.begin()
    await other.db.$executeRaw(sql`SELECT FROM reservations WHERE unit = ${descending.at(-2)}::uuid FOR UPDATE`)
    const folded = ledger.fold(descending.flatMap((lease) => leasedEvents(place, lease, 2)))
    await ledger.untilWaiting(1)
    const month = '2026-11'
    const returned = descending.map((lease) => ({ organization: place.organization, month, lease, units: 2 }))
    const acted = returnLeased(ledger.prisma, returned)
    await ledger.untilWaiting(2)
    await other.commit()
    await Promise.all([folded, acted])
    expect(await eventsOf(place)).toEqual({ count: 24, pending: 0, reservations: 0 })
  })
})

/** The fate of a unit that a gateway spends. */
type Fate = 'publish' | 'not published' | 'unknown, and lost'
/** The life of a gateway: it leases, spends units in sequence, gives the rest back or crashes, and begins again. */
interface Life {
  readonly fates: readonly Fate[]
  readonly partition: number
  readonly isLeased: boolean
  readonly crashes: boolean
}
const life = fc.record<Life>({
  fates: fc.array(fc.constantFrom<Fate>('publish', 'publish', 'not published', 'unknown, and lost'), { maxLength: 6 }),
  partition: fc.integer({ min: 0, max: 2 }),
  isLeased: fc.boolean(),
  crashes: fc.boolean(),
})

/** The facts that are in the log in the end. Folds are in parts, in parallel with whatever other gateways do. */
async function live(place: Place, limit: number, { fates, partition, isLeased, crashes }: Life): Promise<UserFact[]> {
  if (!isLeased) return (await Promise.all(fates.map((fate) => liveByItself(place, limit, partition, fate)))).flat()
  const lease = randomUUID()
  const asked = {
    organization: place.organization,
    month: '2026-11',
    limit,
    leases: [{ lease, partition, units: fates.length + 1 }],
  }
  const [isGranted] = await leaseRoom(ledger.prisma, [asked], NOW)
  if (!isGranted) return live(place, limit, { fates, partition, isLeased: false, crashes })
  const landed = fates.flatMap((fate) => (fate === 'publish' ? leasedEvents(place, lease, 1) : []))
  const certainly = fates.filter((fate) => fate === 'not published').length
  const folded = landed.map((fact) => ledger.fold([fact], partition))
  if (!crashes) {
    // Returns the unused units at the end, and those of late failures. One answer is lost, so the call is repeated.
    await giveBack(place, lease, 1)
    await Promise.all([giveBack(place, lease, 1 + certainly), giveBack(place, lease, 1)])
  }
  await Promise.all(folded)
  return landed
}

async function liveByItself(place: Place, limit: number, partition: number, fate: Fate): Promise<UserFact[]> {
  const asked = { ...event(place, limit), partition }
  const [verdict] = await reserve(ledger.prisma, [asked], NOW)
  if (verdict !== 'granted' || fate === 'unknown, and lost') return []
  if (fate === 'not published') {
    await release(ledger.prisma, [asked.recordId])
    return []
  }
  const fact = eventTracked({ ...place, id: asked.recordId })
  await ledger.fold([fact], partition)
  return [fact]
}

describe('many gateways', () => {
  it('never exceed the limit, lose no unit and never deadlock, in any mix of leases, publications and returns', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(life, { minLength: 5, maxLength: 25 }),
        fc.integer({ min: 1, max: 200 }),
        async (lives, limit) => {
          const place = newPlace()
          const look = async () => {
            const { count, pending, reservations } = await eventsOf(place)
            expect(pending).toBe(reservations)
            expect(count + pending).toBeLessThanOrEqual(limit)
            return count
          }
          const landed = (await Promise.all(lives.map((one) => live(place, limit, one)))).flat()
          expect(await look()).toBe(landed.length)
          for (const partition of [0, 1, 2]) await ledger.tick(later(60_000), partition)
          expect(await eventsOf(place)).toEqual({ count: landed.length, pending: 0, reservations: 0 })
        },
      ),
      { numRuns: 20 },
    )
  })

  it('let exactly as many events pass as there is room for, once all leases have ended', async () => {
    const rooms = fc.record({ limit: fc.integer({ min: 40, max: 90 }), gateways: fc.integer({ min: 1, max: 4 }) })
    await fc.assert(
      fc.asyncProperty(rooms, async ({ limit, gateways }) => {
        const place = newPlace()
        const passed = await Promise.all(Array.from({ length: gateways }, (_, nth) => spendAll(place, limit, nth % 3)))
        expect(passed.reduce((sum, own) => sum + own, 0)).toBe(limit)
        expect(await eventsOf(place)).toEqual({ count: limit, pending: 0, reservations: 0 })
      }),
      { numRuns: 10 },
    )
  })
})

/** A gateway that has more events than there is room for: leases while it may, gives one unit of two back, then asks for each. */
async function spendAll(place: Place, limit: number, partition: number): Promise<number> {
  let passed = 0
  for (;;) {
    const lease = randomUUID()
    const asked = { ...question(place, limit, []), leases: [{ lease, partition, units: 2 }] }
    const [isGranted] = await leaseRoom(ledger.prisma, [asked], NOW)
    if (!isGranted) break
    passed += 1
    await Promise.all([ledger.fold(leasedEvents(place, lease, 1), partition), giveBack(place, lease, 1)])
  }
  for (;;) {
    const one = { ...event(place, limit), partition }
    const [verdict] = await reserve(ledger.prisma, [one], NOW)
    if (verdict === 'no-room') return passed
    if (verdict !== 'granted') continue
    passed += 1
    await ledger.fold([eventTracked({ ...place, id: one.recordId })], partition)
  }
}

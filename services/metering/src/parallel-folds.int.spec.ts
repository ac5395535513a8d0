import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, type Place, statementsFor } from '../test/given-ledger.ts'
import { release, reserve } from './ledger.ts'
import { readUsage } from './queries.ts'

const ledger = givenLedger()
const usageOf = (place: Place) => readUsage(ledger.prisma, { ...place, month: '2026-11' }, new Set())
const NOTHING_RESERVED = { pending: 0, reservations: 0 }

/** A statement that waits for a lock for 2 s fails (`lock_timeout`). */
describe('a fold', () => {
  it('commits while another process has a fold of the same organization open', async () => {
    const place = newPlace()
    const ofUser = (userName: string) => [
      eventTracked({ ...place, userName }),
      identifyRequested({ ...place, userName }),
    ]
    await ledger.fold(ofUser('ada'))
    const other = await ledger.begin()
    await other.db.executeAll(statementsFor([...ofUser('ada'), ...ofUser('bob')], 0))
    await ledger.fold([...ofUser('eve'), ...ofUser('eve')], 1)
    expect(await usageOf(place)).toMatchObject({ events: 3, monthlyActiveUsers: 2 })
    await other.commit()
    expect(await usageOf(place)).toMatchObject({ events: 5, monthlyActiveUsers: 3 })
  })

  it('commits while a grant of the same limits is open, and each of them sees the other’s units once', async () => {
    const place = newPlace()
    const [tracked, identified] = [eventTracked({ ...place }), identifyRequested({ ...place, userName: 'ada' })]
    const asked = [event(place, 2, tracked.id), mau(place, 2, 'ada', identified.id)]
    expect(await reserve(ledger.prisma, asked, NOW)).toEqual(['granted', 'granted'])
    const other = await ledger.begin()
    expect(await reserve(other.db, [event(place, 2), mau(place, 2, 'bob')], NOW)).toEqual(['granted', 'granted'])
    await ledger.fold([tracked, identified])
    expect(await reserve(other.db, [event(place, 2), mau(place, 2, 'eve')], NOW)).toEqual(['held', 'held'])
    await other.commit()
    for (const kind of ['event', 'mau'] as const) {
      expect(await ledger.counterOf(place, kind)).toEqual({ count: 1, pending: 1, reservations: 1 })
    }
  })

  it('does not block grants while it is open', async () => {
    const place = newPlace()
    const [first, second] = [eventTracked({ ...place }), eventTracked({ ...place })]
    await reserve(ledger.prisma, [event(place, 3, first.id), event(place, 3, second.id)], NOW)
    const other = await ledger.begin()
    await other.db.executeAll(statementsFor([first]))
    expect(await reserve(ledger.prisma, [event(place, 3), event(place, 3)], NOW)).toEqual(['granted', 'held'])
    await other.commit()
    expect(await reserve(ledger.prisma, [event(place, 3)], NOW)).toEqual(['held'])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 1, pending: 2, reservations: 2 })
  })
})

describe('a unit that is asked for again', () => {
  it('waits for the fold that ends it, and is counted then', async () => {
    const place = newPlace()
    const identified = identifyRequested({ ...place, userName: 'ada' })
    await reserve(ledger.prisma, [mau(place, 1, 'ada', identified.id)], NOW)
    const other = await ledger.begin()
    await other.db.executeAll(statementsFor([identified]))
    const verdicts = reserve(ledger.prisma, [mau(place, 1, 'ada'), mau(place, 1, 'bob')], NOW)
    await ledger.untilWaiting(1)
    await other.commit()
    expect(await verdicts).toEqual(['counted', 'no-room'])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, ...NOTHING_RESERVED })
  })

  it('makes its fold wait for that one question, and ends with the fold', async () => {
    const place = newPlace()
    const identified = identifyRequested({ ...place, userName: 'ada' })
    await reserve(ledger.prisma, [mau(place, 1, 'ada', identified.id)], NOW)
    const other = await ledger.begin()
    expect(await reserve(other.db, [mau(place, 1, 'ada')], NOW)).toEqual(['granted'])
    const folded = ledger.fold([identified])
    await ledger.untilWaiting(1)
    await other.commit()
    await folded
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, ...NOTHING_RESERVED })
  })

  it.each(['released', 'asked for'])('does not deadlock with its fold when several are %s again', async (act) => {
    const place = newPlace()
    const userNames = Array.from({ length: 12 }, (_, user) => `user-${user}`)
    const descending = userNames.toSorted((one, two) => (userIdFixture(one) < userIdFixture(two) ? 1 : -1))
    for (const userName of descending) await reserve(ledger.prisma, [mau(place, 99, userName)], NOW)
    const again = descending.map((userName) => mau(place, 99, userName))
    await reserve(ledger.prisma, again, NOW)
    const other = await ledger.begin()
    const second = userIdFixture(descending.at(-2) ?? '')
    await other.db.$executeRaw(sql`SELECT FROM reservations WHERE unit = ${second}::uuid FOR UPDATE`)
    const folded = ledger.fold(descending.map((userName) => identifyRequested({ ...place, userName })))
    await ledger.untilWaiting(1)
    const recordIds = again.map(({ recordId }) => recordId)
    const acted = act === 'released' ? release(ledger.prisma, recordIds) : reserve(ledger.prisma, again, NOW)
    await ledger.untilWaiting(2)
    await other.commit()
    await Promise.all([folded, acted])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: userNames.length, ...NOTHING_RESERVED })
  })
})

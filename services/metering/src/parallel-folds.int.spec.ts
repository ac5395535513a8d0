import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { executeAll } from '@nextvisit/projection'
import { describe, expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, type Place, statementsFor } from '../test/given-ledger.ts'
import { reserve } from './ledger.ts'
import { readUsage } from './queries.ts'

const ledger = givenLedger()
const usageOf = (place: Place) => readUsage(ledger.prisma, { ...place, month: '2026-11' }, new Set())
const SETTLED = { pending: 0, reservations: 0 }

/** Whoever waits for a lock for 2 s fails (`lock_timeout`). */
describe('a fold', () => {
  it('commits while another process has a fold of the same organization open', async () => {
    const place = newPlace()
    const ofUser = (userName: string) => [
      eventTracked({ ...place, userName }),
      identifyRequested({ ...place, userName }),
    ]
    await ledger.fold(ofUser('ada'))
    const other = await ledger.begin()
    await executeAll(other.prisma, statementsFor([...ofUser('ada'), ...ofUser('bob')], 0))
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
    expect(await reserve(other.prisma, [event(place, 2), mau(place, 2, 'bob')], NOW)).toEqual(['granted', 'granted'])
    await ledger.fold([tracked, identified])
    expect(await reserve(other.prisma, [event(place, 2), mau(place, 2, 'eve')], NOW)).toEqual(['held', 'held'])
    await other.commit()
    for (const kind of ['event', 'mau'] as const) {
      expect(await ledger.counterOf(place, kind)).toEqual({ count: 1, pending: 1, reservations: 1 })
    }
  })

  it('lets grants go on while it is open', async () => {
    const place = newPlace()
    const [first, second] = [eventTracked({ ...place }), eventTracked({ ...place })]
    await reserve(ledger.prisma, [event(place, 3, first.id), event(place, 3, second.id)], NOW)
    const other = await ledger.begin()
    await executeAll(other.prisma, statementsFor([first]))
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
    await executeAll(other.prisma, statementsFor([identified]))
    const verdicts = reserve(ledger.prisma, [mau(place, 1, 'ada'), mau(place, 1, 'bob')], NOW)
    await ledger.untilOneWaits()
    await other.commit()
    expect(await verdicts).toEqual(['counted', 'exhausted'])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, ...SETTLED })
  })

  it('keeps its fold waiting for that one question, and is ended then', async () => {
    const place = newPlace()
    const identified = identifyRequested({ ...place, userName: 'ada' })
    await reserve(ledger.prisma, [mau(place, 1, 'ada', identified.id)], NOW)
    const other = await ledger.begin()
    expect(await reserve(other.prisma, [mau(place, 1, 'ada')], NOW)).toEqual(['granted'])
    const folded = ledger.fold([identified])
    await ledger.untilOneWaits()
    await other.commit()
    await folded
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, ...SETTLED })
  })
})

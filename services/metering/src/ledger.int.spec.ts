import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { meteringCalls } from '@nextvisit/contracts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createCallClient, sendLocally } from '@nextvisit/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { event, givenLedger, look, mau, newPlace, NOW, RECEIVED, type Place } from '../test/given-ledger.ts'
import { metering } from './consumer.ts'
import { release, reserve } from './ledger.ts'

const ledger = givenLedger()
const later = (ms: number) => new Date(NOW.getTime() + ms)

describe('a reservation (design.md, Metering)', () => {
  it('is granted in order until the limit, and uses up nothing if refused', async () => {
    const place = newPlace()
    const verdicts = await reserve(ledger.prisma, [event(place, 2), event(place, 2), event(place, 2)], NOW)
    expect(verdicts).toEqual(['granted', 'granted', 'held'])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 0, pending: 2, reservations: 2 })
    expect(await reserve(ledger.prisma, [event(place, 2), event(place, 3)], NOW)).toEqual(['held', 'held'])
    expect(await reserve(ledger.prisma, [event(place, 3)], NOW)).toEqual(['granted'])
  })

  it('counts toward the organization for events of any project, and toward the project for active users', async () => {
    const place = newPlace()
    const other = { ...place, project: 'blog' }
    expect(await reserve(ledger.prisma, [event(place, 1), event(other, 1)], NOW)).toEqual(['granted', 'held'])
    expect(await reserve(ledger.prisma, [mau(place, 1, 'ada'), mau(other, 1, 'ada')], NOW)).toEqual([
      'granted',
      'granted',
    ])
  })

  it('has the same verdict when the record asks again, and takes no second unit', async () => {
    const place = newPlace()
    const asked = [event(place, 1), mau(place, 1, 'ada')]
    expect(await reserve(ledger.prisma, asked, NOW)).toEqual(['granted', 'granted'])
    expect(await reserve(ledger.prisma, [...asked, ...asked], NOW)).toEqual([
      'granted',
      'granted',
      'granted',
      'granted',
    ])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 0, pending: 1, reservations: 1 })
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 0, pending: 1, reservations: 1 })
  })

  it('takes one unit for parallel first identifies of a user, and none for a counted user', async () => {
    const place = newPlace()
    await ledger.fold([identifyRequested({ ...place, userName: 'ada' })])
    const asked = [mau(place, 2, 'ada'), mau(place, 2, 'bob'), mau(place, 2, 'bob'), mau(place, 2, 'eve')]
    expect(await reserve(ledger.prisma, asked, NOW)).toEqual(['counted', 'granted', 'granted', 'held'])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 1, pending: 1, reservations: 1 })
  })

  it('is not refused to the duplicate of a counted record for 24 h', async () => {
    const place = newPlace()
    const asked = event(place, 1)
    await ledger.fold([eventTracked({ ...place, id: asked.recordId, keyed: true })])
    await ledger.prisma.$executeRaw(
      sql`INSERT INTO idempotent_records VALUES (${asked.recordId}::uuid, 0, ${RECEIVED}::timestamptz)`,
    )
    expect(await reserve(ledger.prisma, [asked, event(place, 1)], later(86_399_999))).toEqual(['counted', 'no-room'])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
    expect(await reserve(ledger.prisma, [asked], later(86_400_000))).toEqual(['no-room'])
  })

  it('counts for its own month only', async () => {
    const place = newPlace()
    await ledger.fold([identifyRequested({ ...place, userName: 'ada' })])
    const both = [event(place, 1), mau(place, 1, 'ada'), mau(place, 1, 'bob')]
    const asked = both.flatMap((one) => [one, { ...one, month: '2026-12' }])
    expect(await reserve(ledger.prisma, asked, NOW)).toEqual([
      'granted',
      'granted',
      'counted',
      'granted',
      'no-room',
      'held',
    ])
  })

  it('is granted to exactly K of N parallel questions at a limit with room for K', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 12 }), async (folded, room) => {
        const place = newPlace()
        await ledger.fold(Array.from({ length: folded }, () => eventTracked({ ...place })))
        const asks = Array.from({ length: 16 }, () => [event(place, folded + room), event(place, folded + room)])
        const verdicts = await Promise.all(asks.map((batch) => reserve(ledger.prisma, batch, NOW)))
        expect(verdicts.flat().filter((verdict) => verdict === 'granted')).toHaveLength(room)
        expect(await ledger.counterOf(place, 'event')).toEqual({ count: folded, pending: room, reservations: room })
      }),
      { numRuns: 10 },
    )
  })
})

describe('held room', () => {
  it('makes metering fetch the records that hold it at once, because callers wait', async () => {
    let hurried = 0
    const routes = metering.routes({
      db: ledger.prisma,
      readDb: ledger.prisma,
      catalog: staticCatalog([]),
      now: () => NOW,
      barrier: () => Promise.resolve(),
      fetchNow: () => void (hurried += 1),
      countKeyPartitions: () => Promise.resolve(1),
    })
    const asks = createCallClient(meteringCalls, sendLocally(routes))
    const place = newPlace()
    const ask = () => asks.reserve({ questions: [event(place, 1)] })
    expect(await ask()).toMatchObject({ answer: { answers: ['granted'] } })
    expect(hurried).toBe(0)
    expect(await ask()).toMatchObject({ answer: { answers: ['held'] } })
    expect(hurried).toBe(1)
  })

  it('is reported as held, and exhausted room as no room, for events and for active users', async () => {
    const place = newPlace()
    await ledger.fold([eventTracked({ ...place }), identifyRequested({ ...place, userName: 'ada' })])
    const asked = [event(place, 2), event(place, 2), event(place, 1), event(place, 0)]
    expect(await reserve(ledger.prisma, asked, NOW)).toEqual(['granted', 'held', 'no-room', 'no-room'])
    const users = [mau(place, 2, 'bob'), mau(place, 2, 'eve'), mau(place, 1, 'eve')]
    expect(await reserve(ledger.prisma, users, NOW)).toEqual(['granted', 'held', 'no-room'])
  })

  it('is not taken by a request that only checks for room', async () => {
    const place = newPlace()
    expect(await reserve(ledger.prisma, [look(place, 1), look(place, 0)], NOW)).toEqual(['room', 'no-room'])
    expect(await reserve(ledger.prisma, [event(place, 1)], NOW)).toEqual(['granted'])
    expect(await reserve(ledger.prisma, [look(place, 1)], NOW)).toEqual(['held'])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 0, pending: 1, reservations: 1 })
  })

  it('goes to requests that ask again after others give theirs back, and is used up exactly', async () => {
    const fates = fc.array(fc.constantFrom('count' as const, 'give back' as const), { minLength: 1, maxLength: 24 })
    await fc.assert(
      fc.asyncProperty(fates, fc.integer({ min: 0, max: 12 }), async (lives, room) => {
        const place = newPlace()
        const ends = await Promise.all(lives.map((fate) => askUntilDecided(place, room, fate)))
        const keepers = lives.filter((fate) => fate === 'count').length
        expect(ends.filter((end) => end === 'counted')).toHaveLength(Math.min(room, keepers))
        expect(await ledger.counterOf(place, 'event')).toEqual({
          count: Math.min(room, keepers),
          pending: 0,
          reservations: 0,
        })
      }),
      { numRuns: 10 },
    )
  })
})

/** A request as the gateway handles it: asks again while room is held, and then counts, or is refused by the cap. */
async function askUntilDecided(place: Place, limit: number, fate: 'count' | 'give back') {
  const asked = event(place, limit)
  for (;;) {
    const [verdict] = await reserve(ledger.prisma, [asked], NOW)
    if (verdict === 'no-room') return 'no-room'
    if (verdict !== 'granted') continue
    if (fate === 'give back') await release(ledger.prisma, [asked.recordId])
    else await ledger.fold([eventTracked({ ...place, id: asked.recordId })])
    return fate === 'count' ? 'counted' : 'given back'
  }
}

describe('a release', () => {
  it('frees the unit of a record that was not published', async () => {
    const place = newPlace()
    const recordId = randomUUID()
    await reserve(ledger.prisma, [event(place, 1, recordId), mau(place, 1, 'ada', recordId)], NOW)
    await release(ledger.prisma, [recordId, randomUUID()])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 0, pending: 0, reservations: 0 })
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 0, pending: 0, reservations: 0 })
  })

  it('keeps a unit that another record of the user still needs', async () => {
    const place = newPlace()
    const [first, second] = [mau(place, 1, 'ada'), mau(place, 1, 'ada')]
    await reserve(ledger.prisma, [first, second], NOW)
    await release(ledger.prisma, [first.recordId])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 0, pending: 1, reservations: 1 })
    await release(ledger.prisma, [second.recordId])
    expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 0, pending: 0, reservations: 0 })
  })

  it('keeps the unit of a record that asked twice, because its first publish may be in the log', async () => {
    const place = newPlace()
    const retried = event(place, 1)
    await reserve(ledger.prisma, [retried], NOW)
    await reserve(ledger.prisma, [retried], NOW)
    await release(ledger.prisma, [retried.recordId])
    expect(await reserve(ledger.prisma, [event(place, 1)], NOW)).toEqual(['held'])
    await ledger.fold([eventTracked({ ...place, id: retried.recordId })])
    expect(await ledger.counterOf(place, 'event')).toEqual({ count: 1, pending: 0, reservations: 0 })
  })

  it('keeps a unit that a record asked for twice, also after another one of the user asked, or in one question', async () => {
    for (const questions of [
      ['first', 'first', 'second'],
      ['first', 'second+second'],
    ]) {
      const place = newPlace()
      const ids = new Map(['first', 'second'].map((name) => [name, randomUUID()]))
      const asked = (name: string) => mau(place, 1, 'ada', ids.get(name) ?? '')
      for (const names of questions) await reserve(ledger.prisma, names.split('+').map(asked), NOW)
      await release(ledger.prisma, [...ids.values()])
      expect(await ledger.counterOf(place, 'mau')).toEqual({ count: 0, pending: 1, reservations: 1 })
    }
  })

  it('drops reservations that are unfolded for 60 s, of the ticking partition', async () => {
    const place = newPlace()
    await reserve(ledger.prisma, [event(place, 9), { ...event(place, 9), partition: 1 }], NOW)
    await reserve(ledger.prisma, [event(place, 9)], later(1_000))
    await ledger.tick(later(59_999))
    expect(await ledger.counterOf(place, 'event')).toMatchObject({ pending: 3, reservations: 3 })
    await ledger.tick(later(60_000))
    expect(await ledger.counterOf(place, 'event')).toMatchObject({ pending: 2, reservations: 2 })
    expect(await ledger.isDue(0, later(60_000))).toBe(false)
    expect(await ledger.isDue(1, later(60_000))).toBe(true)
  })

  it('begins the 60 s again when a record asks again', async () => {
    const place = newPlace()
    const retried = event(place, 1)
    await reserve(ledger.prisma, [retried], NOW)
    await reserve(ledger.prisma, [retried], later(30_000))
    await ledger.tick(later(60_000))
    expect(await ledger.counterOf(place, 'event')).toMatchObject({ pending: 1 })
  })
})

import type { EventTracked, UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { countKeyOf, countsForOf, FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows } from '../test/given-projector.ts'
import { readSegmentMembers, readUser } from './queries.ts'

const shop = { organization: 'acme', project: 'shop' }
const ada = { ...shop, userId: userIdFixture('ada') }
const where = { property: 'total', atLeast: 100 } as const
const many = { id: 'many', where: { event: 'Checkout Completed', atLeast: 2, within: '1h', where } }
const largeKey = countKeyOf({ event: 'checkout_completed', where })
const [without, asking] = [catalogOf([]), catalogOf([many], 2)]
const at = (time: string) => `2025-11-02T${time}:00.000Z`
const past = (instant: string) => new Date(Date.parse(instant) + FACTS_ARRIVE_WITHIN_MS).toISOString()

/** A record as a gateway writes it that knows this catalog. */
function checkout(catalog: typeof asking, time: string, total: number, special: Partial<EventTracked> = {}): UserFact {
  const fact = eventTracked({ received: at(time), properties: { total }, ...special })
  const config = catalog.project('acme', 'shop')?.config
  return { ...fact, ...(config && countsForOf(config, fact)) }
}

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(() => given.clear())

const members = async () => {
  const { users } = await readSegmentMembers(given.prisma, { ...shop, segmentId: 'many', limit: 10 })
  return users.map(({ userName, since }) => `${userName} ${since.slice(11, 16)}`)
}
const readCounts = () =>
  given.prisma.$queryRaw<{ slug: string; count: bigint }[]>(sql`SELECT slug, count FROM user_events ORDER BY slug`)

describe('a count of events with given properties', () => {
  it('changes a segment, and so does time', async () => {
    await given.fold(
      { catalog: asking },
      identifyRequested({ received: at('08:00') }),
      checkout(asking, '08:10', 100),
      checkout(asking, '08:20', 1),
      checkout(asking, '08:30', 1),
    )
    expect(await members()).toEqual([])
    await given.fold({ catalog: asking }, checkout(asking, '08:40', 250))
    expect(await members()).toEqual(['ada 08:40'])
    await given.settle({ catalog: asking }, past(at('09:09')))
    expect(await members()).toEqual(['ada 08:40'])
    await given.settle({ catalog: asking }, past(at('09:10')))
    expect(await members()).toEqual([])
  })

  it('includes imported events at their own time while a segment asks for it', async () => {
    const old = { imported: true, occurredAt: at('07:30'), evaluateTriggers: false } as const
    await given.fold({ catalog: asking }, identifyRequested({ received: at('08:00') }), checkout(asking, '08:10', 100))
    await given.fold({ catalog: asking }, checkout(asking, '08:20', 100, old))
    expect(await members()).toEqual(['ada 08:20'])
    await given.settle({ catalog: asking }, past(at('08:30')))
    expect(await members()).toEqual([])
  })

  it('is not listed among the events of the user', async () => {
    await given.fold({ catalog: asking }, identifyRequested({ received: at('08:00') }), checkout(asking, '08:10', 100))
    expect((await readCounts()).map(({ slug }) => slug)).toEqual(['checkout_completed', largeKey])
    expect(Object.keys((await readUser(given.prisma, ada))?.events ?? {})).toEqual(['checkout_completed'])
  })

  it('begins when a segment asks for it, stops when none does, and continues when one asks again, live and rebuilt', async () => {
    const facts = [
      identifyRequested({ received: at('08:00') }),
      checkout(without, '08:01', 100),
      checkout(asking, '08:02', 100),
      checkout(asking, '08:03', 99),
      checkout(without, '08:04', 100),
      checkout(asking, '08:05', 100),
    ]
    // The projector's own view of the catalog is sometimes behind the gateway's, sometimes ahead of it.
    const views = [without, without, without, asking, asking, asking]
    for (const [index, fact] of facts.entries()) await given.fold({ catalog: views[index] ?? asking }, fact)
    await given.settle({ catalog: asking }, past(at('08:06')))
    expect(await readCounts()).toEqual([
      { slug: 'checkout_completed', count: 5n },
      { slug: largeKey, count: 2n },
    ])
    expect(await members()).toEqual(['ada 08:05'])
    const live = await readCounts()
    for (const catalog of [asking, without]) {
      await given.clear()
      await given.rebuild({ catalog }, ...facts)
      expect(await readCounts()).toEqual(live)
    }
  })

  it('is the same for any batch sizes and under any catalog', async () => {
    const step = fc.record({
      userName: fc.constantFrom('ada', 'bob'),
      total: fc.constantFrom(1, 100),
      isAsked: fc.boolean(),
      isSeen: fc.boolean(),
      isLast: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), async (steps) => {
        const facts = steps.map(({ isAsked, total, userName }) =>
          checkout(isAsked ? asking : without, '08:00', total, { userId: userIdFixture(userName) }),
        )
        await given.clear()
        let batch: UserFact[] = []
        for (const [index, { isSeen, isLast }] of steps.entries()) {
          batch.push(...facts.slice(index, index + 1))
          if (!isLast && index < steps.length - 1) continue
          await given.fold({ catalog: isSeen ? asking : without }, ...batch)
          batch = []
        }
        const live = await readAllRows(given.prisma)
        const large = steps.filter((one) => one.isAsked && one.total === 100).length
        const counts = await readCounts()
        const counted = counts.filter(({ slug }) => slug === largeKey).reduce((sum, { count }) => sum + count, 0n)
        expect(counted).toBe(BigInt(large))
        await given.clear()
        await given.rebuild({ catalog: without }, ...facts)
        expect(await readAllRows(given.prisma)).toEqual(live)
      }),
      { numRuns: 8 },
    )
  })
})

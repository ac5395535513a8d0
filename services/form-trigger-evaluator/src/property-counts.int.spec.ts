import type { EventTracked, Form } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture, visit } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { countKeyOf, countsForOf } from '@nextvisit/domain'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

type Context = ReturnType<typeof contextOf>
const where = { property: 'total', atLeast: 100 } as const
const largeKey = countKeyOf({ event: 'checkout_completed', where })
const third: Partial<Form> = {
  ...nps,
  triggers: [{ event: 'Checkout Completed', count: 3, within: '1h', where }],
}
const [without, asking] = [contextOf([]), contextOf([third])]

/** A record as a gateway writes it that knows the workspace of this context. */
function checkout(context: Context, minute: number, total: number, special: Partial<EventTracked> = {}): EventTracked {
  const fact = eventTracked({ received: at(minute * MINUTE), properties: { total }, ...special })
  const config = context.catalog.project('acme', 'shop')?.config
  return { ...fact, ...(config && countsForOf(config, fact)) }
}

async function foldTotals(context: Context, ...totals: readonly number[]): Promise<void> {
  for (const [minute, total] of totals.entries()) await given.fold(context, checkout(context, minute, total))
}

const outcomes = async () => (await given.prisma.decision.findMany()).map(({ outcome }) => outcome)
const readCounts = () =>
  given.prisma.$queryRaw<object[]>(sql`SELECT to_jsonb(event_occurrences) AS row FROM event_occurrences ORDER BY slug`)

describe('a trigger that counts events with given properties', () => {
  it('queues the form at the event that completes the count', async () => {
    await foldTotals(asking, 100, 1, 2, 3, 120)
    expect(await given.queue()).toEqual([])
    expect(await outcomes()).toEqual([])
    await given.fold(asking, checkout(asking, 6, 500))
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('counts each event of a batch, in its order', async () => {
    await given.fold(asking, ...[100, 1, 100, 100].map((total, minute) => checkout(asking, minute, total)))
    expect(await given.prisma.decision.findMany()).toMatchObject([
      { outcome: 'queued', decidedAt: new Date(at(3 * MINUTE)) },
    ])
  })

  it('names the property that excludes an event once the count is reached, also if an earlier batch reached it', async () => {
    const always = contextOf([{ ...third, frequency: { repeat: 'always' } }])
    await foldTotals(always, 100, 100, 100)
    await given.fold(always, checkout(always, 4, 1))
    expect(await given.prisma.decision.findMany()).toMatchObject([
      { outcome: 'properties-differ', gates: [{ gate: 'where', passed: false, compared: { actual: 1 } }] },
    ])
  })

  it('forgets events that have left the window', async () => {
    await foldTotals(asking, 100, 100)
    await given.fold(asking, checkout(asking, 61, 100))
    expect(await outcomes()).toEqual([])
  })

  it('counts within the session', async () => {
    const context = contextOf([
      { ...nps, triggers: [{ event: 'checkout_completed', count: 2, since: 'session', where }] },
    ])
    const tracked = (minute: number, total: number) => checkout(context, minute, total, { source: 'sdk' })
    await given.fold(context, tracked(0, 100), visit({ received: at(MINUTE) }), tracked(2, 100), tracked(3, 1))
    expect(await outcomes()).toEqual([])
    await given.fold(context, tracked(4, 100))
    expect(await outcomes()).toEqual(['queued'])
  })
})

describe('an audience that counts events with given properties', () => {
  const audience = { not: { segment: 'small' } }
  const segments = [{ id: 'small', where: { event: 'Checkout Completed', atMost: 1, where } }]
  const context = contextOf([{ id: 'welcome', triggers: [{ visit: {} }], audience }], { segments })

  it('includes the counted events at a visit', async () => {
    await given.fold(context, identifyRequested({ received: at(0) }))
    await foldTotals(context, 100, 1, 1)
    await given.fold(context, visit({ received: at(30 * MINUTE) }))
    await given.fold(context, checkout(context, 31, 100))
    await given.fold(context, visit({ received: at(90 * MINUTE) }))
    expect(await given.prisma.decision.findMany()).toMatchObject([{ formId: 'welcome', outcome: 'queued' }])
    const [first] = await given.prisma.queueRow.findMany()
    expect(first?.queuedAt).toEqual(new Date(at(90 * MINUTE)))
  })
})

describe('a rebuilt property count', () => {
  it('equals the live one if it began in the middle, was removed, or was asked for again, with any catalog', async () => {
    const facts = [
      checkout(without, 0, 100),
      checkout(asking, 1, 100),
      checkout(without, 2, 100),
      checkout(asking, 3, 100),
      checkout(asking, 4, 1, { source: 'sdk' }),
    ]
    // The evaluator's own view of the catalog is sometimes behind the gateway's, sometimes ahead of it.
    for (const [index, fact] of facts.entries()) await given.fold(index % 2 === 0 ? asking : without, fact)
    const live = await readCounts()
    expect(live).toMatchObject([
      { row: { slug: 'checkout_completed', total: 5 } },
      { row: { slug: largeKey, total: 2 } },
    ])
    for (const context of [asking, without]) {
      await given.clear()
      await given.fold({ ...context, mode: 'rebuild' }, ...facts)
      expect(await readCounts()).toEqual(live)
    }
  })

  it('includes no event of another user', async () => {
    const bob = { userName: 'bob', userId: userIdFixture('bob') }
    await given.fold(asking, checkout(asking, 0, 100), checkout(asking, 1, 100, bob), checkout(asking, 2, 100, bob))
    expect(await outcomes()).toEqual([])
  })
})

import { createHash } from 'node:crypto'
import { type Condition, ProjectConfig, type PropertyCondition, type Trigger } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY, eventContext, formIndex, history, HOUR, MINUTE, NOW, userState } from '../../test/form-fixtures.ts'
import { factsNeededBy } from '../forms/needed-facts.ts'
import { countKeyOf, countKeysOf } from '../counts/count-key.ts'
import { evaluateForms } from '../forms/evaluate-forms.ts'
import { applyEvent, type User } from '../users/user.ts'
import { EMPTY_PROFILE } from '../traits/profile.ts'
import { countsForOf } from './property-counts.ts'
import { compileSegments } from '../segments/segments.ts'

const LARGE = { property: 'total', atLeast: 100 } satisfies PropertyCondition
const EUROS = { property: 'currency', is: 'EUR' } satisfies PropertyCondition
const largeKey = countKeyOf({ event: 'checkout', where: LARGE })

function project(triggers: readonly Trigger[], audience?: Condition, where?: Condition): ProjectConfig {
  return ProjectConfig.parse({
    id: 'shop',
    forms: [{ id: 'nps', enabled: false, triggers, ...(audience && { audience }) }],
    segments: where ? [{ id: 'segment', where }] : [],
  })
}

const hashes = (config: ProjectConfig, properties?: Record<string, unknown>, slug = 'checkout') =>
  countsForOf(config, { slug, received: new Date(NOW).toISOString(), ...(properties && { properties }) }).countsFor ??
  []

const key = (where: PropertyCondition) => countKeyOf({ event: 'checkout', where }).slice('checkout#'.length)

describe("the property counts of an event's record (forms.md)", () => {
  it('are the hashes of the conditions that hold in counting triggers, audiences and segments, also of disabled forms', () => {
    const small = { not: LARGE }
    const config = project(
      [{ event: 'Checkout', count: 2, where: LARGE }],
      { not: { all: [{ event: 'checkout', atMost: 1, where: EUROS }] } },
      { event: 'checkout', exactly: 0, where: small },
    )
    expect(hashes(config, { total: 100 })).toEqual([key(LARGE)])
    expect(hashes(config, { total: 100, currency: 'EUR' })).toEqual([key(LARGE), key(EUROS)])
    expect(hashes(config)).toEqual([key(small)])
    expect(hashes(config, { total: 100 }, 'search')).toEqual([])
    expect(countsForOf(config, { slug: 'search', received: '' })).toEqual({})
  })

  it.each<Trigger>([
    { event: 'checkout', count: 1, where: LARGE },
    { event: 'checkout', within: '7d', where: LARGE },
    { event: 'checkout', since: 'session', where: LARGE },
  ])('include the condition of a trigger that counts: %j', (trigger) => {
    expect(hashes(project([trigger]), { total: 100 })).toHaveLength(1)
  })

  it('exclude the condition of a trigger without a count, which checks the event itself', () => {
    expect(hashes(project([{ event: 'checkout', where: LARGE }]), { total: 100 })).toEqual([])
    expect(factsNeededBy([project([{ event: 'checkout', where: LARGE }])]).events).toEqual(new Set(['checkout']))
  })

  it('name a shared condition once', () => {
    const config = project([{ event: 'checkout', count: 2, where: LARGE }], {
      event: 'Checkout',
      atLeast: 1,
      within: '7d',
      where: { atLeast: 100, property: 'total' },
    })
    expect(hashes(config, { total: 100 })).toHaveLength(1)
    expect(factsNeededBy([config]).events).toEqual(new Set([largeKey]))
  })

  it('measure an age from the receipt of the record', () => {
    const config = project([{ event: 'checkout', count: 2, where: { property: 'at', after: '-1d' } }])
    expect(hashes(config, { at: new Date(NOW - DAY + 1).toISOString() })).toHaveLength(1)
    expect(hashes(config, { at: new Date(NOW - DAY).toISOString() })).toEqual([])
  })
})

describe('the key of a count', () => {
  it('is the slug, or the slug and the hash that forms.md defines', () => {
    expect(countKeyOf({ event: 'Checkout Completed' })).toBe('checkout_completed')
    const hash = createHash('sha256').update('[1,{"atLeast":100,"property":"total"}]').digest('hex').slice(0, 16)
    expect(countKeyOf({ event: 'Checkout', where: LARGE })).toBe(`checkout#${hash}`)
    expect(countKeysOf({ slug: 'checkout', countsFor: [hash] })).toEqual(['checkout', `checkout#${hash}`])
  })

  it('depends on everything but the order of members', () => {
    const leaf = fc.record({ property: fc.string({ minLength: 1 }), is: fc.oneof(fc.string(), fc.integer()) })
    const { tree } = fc.letrec<{ tree: PropertyCondition }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.record({ not: tie('tree') }),
        fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
      ),
    }))
    fc.assert(
      fc.property(tree, tree, (one, other) => {
        expect(countKeyOf({ event: 'x', where: reversed(one) })).toBe(countKeyOf({ event: 'x', where: one }))
        const areSame = JSON.stringify(one) === JSON.stringify(other)
        expect(countKeyOf({ event: 'x', where: one }) === countKeyOf({ event: 'x', where: other })).toBe(areSame)
      }),
    )
  })
})

/** The same with the members of each object in the opposite order. */
function reversed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(reversed) as Value
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const)
  return Object.fromEntries(members.toReversed()) as Value
}

describe('a trigger that counts events with such properties', () => {
  const trigger: Trigger = { event: 'checkout', count: 2, within: '1h', where: LARGE }
  const decide = (large: readonly number[], properties?: Record<string, unknown>, all = [NOW, NOW, NOW]) => {
    const events = new Map([
      ['checkout', history(all)],
      [largeKey, history(large)],
    ])
    return evaluateForms(formIndex([{ triggers: [trigger] }]), userState({ events }), eventContext({ properties }))
  }

  it('matches by their count, this event included, and ignores other events', () => {
    expect(decide([NOW - MINUTE, NOW], { total: 100 })).toMatchObject([{ outcome: 'queued', trigger }])
    expect(decide([NOW], { total: 100 })).toEqual([])
    expect(decide([NOW - HOUR, NOW], { total: 100 })).toEqual([])
  })

  it('names the property that refuses an event if the count is reached, and has no decision otherwise', () => {
    expect(decide([NOW - 2, NOW - 1], { total: 1 })).toMatchObject([
      { outcome: 'not-queued', reason: 'properties-differ', gates: [{ compared: { actual: 1 } }] },
    ])
    expect(decide([NOW - 1], { total: 1 })).toEqual([])
  })

  it('counts only the events of the session', () => {
    const triggers: Trigger[] = [{ event: 'checkout', count: 2, since: 'session', where: LARGE }]
    const startedAt = NOW - MINUTE
    const decideIn = (large: number) => {
      const events = new Map([
        ['checkout', history([NOW, NOW, NOW], startedAt)],
        [largeKey, history(Array<number>(large).fill(NOW), startedAt)],
      ])
      const user = userState({ events, sessionStartedAt: startedAt })
      return evaluateForms(formIndex([{ triggers }]), user, eventContext({ source: 'sdk', properties: { total: 100 } }))
    }
    expect(decideIn(1)).toEqual([])
    expect(decideIn(2)).toMatchObject([{ outcome: 'queued' }])
  })

  it('adds its count to the counts that a record of its slug reads', () => {
    const index = formIndex([{ triggers: [trigger] }])
    expect(index.triggerCounts('checkout')).toEqual([largeKey])
    expect(index.triggerCounts('search')).toEqual([])
  })
})

describe('a condition that counts events with such properties', () => {
  const where: Condition = { event: 'checkout', atLeast: 2, within: '1h', where: LARGE }

  it('compares their count, and changes when one of them leaves the window', () => {
    const { membershipAt, countKeys } = compileSegments(project([], undefined, where))
    expect(countKeys).toEqual(new Set([largeKey]))
    const userWith = (large: readonly number[]) =>
      userState({
        events: new Map([
          ['checkout', history([NOW, NOW])],
          [largeKey, history(large)],
        ]),
      })
    expect(membershipAt(userWith([NOW]), NOW)).toEqual({ segments: [], changesAt: undefined })
    expect(membershipAt(userWith([NOW - MINUTE, NOW]), NOW)).toEqual({
      segments: ['segment'],
      changesAt: NOW - MINUTE + HOUR,
    })
  })

  it('adds its count to the counts that gates read, also through a segment', () => {
    expect(formIndex([{ audience: where }]).gateCounts).toEqual(new Set([largeKey]))
    const named = formIndex([{ audience: { segment: 'big' } }], { segments: [{ id: 'big', where }] })
    expect(named.gateCounts).toEqual(new Set([largeKey]))
  })

  it('has a different fingerprint with a different where', () => {
    const [one, other] = [LARGE, EUROS].map((of) => compileSegments(project([], undefined, { ...where, where: of })))
    expect(one?.fingerprint).not.toBe(other?.fingerprint)
  })
})

describe('a fold of such events', () => {
  it('results in the counts of an evaluation of every record, however the catalog changes', () => {
    const config = project([{ event: 'checkout', count: 2, where: LARGE }])
    const without = project([])
    const total = fc.constantFrom(undefined, 1, 100, '100')
    fc.assert(
      fc.property(fc.array(fc.record({ total, isApplied: fc.boolean() })), (events) => {
        const user: User = { profile: EMPTY_PROFILE, events: new Map(), answers: new Map() }
        for (const { total: said, isApplied } of events) {
          const fact = eventTracked({
            eventName: 'checkout',
            ...(said !== undefined && { properties: { total: said } }),
          })
          applyEvent(user, { ...fact, ...countsForOf(isApplied ? config : without, fact) })
        }
        const large = events.filter((one) => one.isApplied && one.total === 100)
        expect(user.events.get(largeKey)?.total ?? 0).toBe(large.length)
        expect(user.events.get('checkout')?.total ?? 0).toBe(events.length)
      }),
    )
  })
})

import type { PropertyCondition, Trigger } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { DAY, eventContext, formIndex, NOW, userState, visitContext } from '../../../test/form-fixtures.ts'
import { evaluateForms } from '../evaluate-forms.ts'
import { eventContextOf } from '../triggers.ts'
import { eventTracked } from '@nextvisit/contracts/fixtures'

const LARGE = { event: 'checkout', where: { property: 'total', atLeast: 100 } } satisfies Trigger
const EUROS = { event: 'checkout', where: { property: 'cart.currency', is: 'EUR' } } satisfies Trigger
const THREE_DAYS: Trigger = { firstSeen: { after: '3d' } }

const decide = (triggers: Trigger[], properties?: Record<string, unknown>, form = {}) =>
  evaluateForms(formIndex([{ triggers, ...form }]), userState(), eventContext({ properties }))
const whereOf = (leaf: object, actual?: unknown) => ({
  gate: 'where',
  passed: false,
  compared: { leaf, negated: false, actual },
})
const FORM_GATES = ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot']

describe('a trigger that asks for properties (forms.md)', () => {
  it('queues the form if the event has them, and records the compared values', () => {
    const [decision] = decide([LARGE], { total: 100 })
    expect(decision).toMatchObject({ outcome: 'queued', trigger: LARGE })
    expect(decision?.gates[0]).toEqual({ ...whereOf(LARGE.where, 100), passed: true })
    expect(decision?.gates.map(({ gate }) => gate)).toEqual(['where', ...FORM_GATES])
  })

  it.each([
    [{ total: 99.99 }, 99.99],
    [{ total: '100' }, '100'],
    [{ cart: { total: 100 } }, undefined],
    [{}, undefined],
    [undefined, undefined],
  ])('refuses other events before any other gate: %j', (properties, actual) => {
    expect(decide([LARGE], properties, { enabled: false })).toEqual([
      {
        formId: 'nps',
        outcome: 'not-queued',
        reason: 'properties-differ',
        trigger: LARGE,
        gates: [whereOf(LARGE.where, actual)],
      },
    ])
  })

  it('records only the first whole characters of a long value', () => {
    const where = { property: 'note', contains: 'x' } satisfies PropertyCondition
    const noted = (note: unknown) => decide([{ event: 'checkout', where }], { note })[0]?.gates[0]
    const long = '😀'.repeat(101)
    expect(noted(long)).toEqual(whereOf(where, `${'😀'.repeat(100)}…`))
    expect(noted('y'.repeat(100))).toEqual(whereOf(where, 'y'.repeat(100)))
    const list = Array.from({ length: 21 }, () => long)
    expect(noted(list)).toEqual(
      whereOf(
        where,
        Array.from({ length: 20 }, () => `${'😀'.repeat(100)}…`),
      ),
    )
    expect(noted(`${'y'.repeat(200)}x`)).toMatchObject({ passed: true })
  })

  it('gives way to a later trigger that matches in full; if none does, the first is recorded', () => {
    const either = [LARGE, EUROS]
    expect(decide(either, { total: 1, cart: { currency: 'EUR' } })).toMatchObject([
      { outcome: 'queued', trigger: EUROS },
    ])
    expect(decide(either, { total: 100, cart: { currency: 'EUR' } })).toMatchObject([{ trigger: LARGE }])
    expect(decide(either, { total: 1 })).toMatchObject([{ reason: 'properties-differ', trigger: LARGE }])
    const [byOther] = decide([LARGE, { event: 'checkout' }], { total: 1 })
    expect(byOther).toMatchObject({ outcome: 'queued', trigger: { event: 'checkout' } })
    expect(byOther?.gates.map(({ gate }) => gate)).toEqual(FORM_GATES)
  })

  it('has no decision on other events and on visits', () => {
    const index = formIndex([{ triggers: [LARGE, THREE_DAYS] }])
    const search = eventContext({ slug: 'search', properties: { total: 1 } })
    expect(evaluateForms(index, userState(), search)).toEqual([])
    expect(evaluateForms(index, userState({ firstSeenAt: NOW - 3 * DAY }), visitContext())).toMatchObject([
      { outcome: 'queued', trigger: THREE_DAYS },
    ])
  })

  it('reads the properties of the record', () => {
    expect(eventContextOf(eventTracked({ properties: { total: 1 } }))).toMatchObject({
      event: { properties: { total: 1 } },
    })
  })

  it('makes the gateway wait for the evaluator at each event of its slug', () => {
    const { reactsTo } = formIndex([{ triggers: [LARGE] }])
    expect(['checkout', 'search'].map(reactsTo)).toEqual([true, false])
  })
})

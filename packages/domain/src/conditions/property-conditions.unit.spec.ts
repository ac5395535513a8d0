import type { PropertyCondition, TraitValue } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NOW, userState } from '../../test/form-fixtures.ts'
import { compileCondition } from './conditions.ts'
import { compilePropertyCondition, propertyAt } from './property-conditions.ts'

const find = (where: PropertyCondition, properties?: Record<string, unknown>) =>
  compilePropertyCondition(where)(properties, NOW)

const listOf = (length: number) => ({ list: Array.from({ length }, () => 1) })

describe('the value at a path (forms.md, Property conditions)', () => {
  const properties: Record<string, unknown> = JSON.parse(`{
    "total": 120.5, "coupon": null, "tags": ["a", 1, null], "items": [{ "sku": "A-1" }],
    "cart": { "total": 99, "a.b": "in cart", "x": { "y": { "z": true } }, "__proto__": { "deep": 1 } },
    "shop.id": "whole", "shop": { "id": "nested" }, "__proto__": "own", "": "empty"
  }`)

  it.each<[string, TraitValue | undefined]>([
    ['total', 120.5],
    ['coupon', null],
    ['tags', ['a', 1, null]],
    ['cart.total', 99],
    ['cart.x.y.z', true],
    ['cart.a.b', 'in cart'],
    ['cart.__proto__.deep', 1],
    ['shop.id', 'whole'],
    ['__proto__', 'own'],
    ['missing', undefined],
    ['cart.missing', undefined],
    ['cart', undefined],
    ['cart.x', undefined],
    ['items', undefined],
    ['items.0', undefined],
    ['items.length', undefined],
    ['total.toFixed', undefined],
    ['constructor', undefined],
    ['cart.constructor.name', undefined],
    ['total.', undefined],
    ['.', undefined],
    ['cart.total.x', undefined],
  ])('%s', (path, value) => {
    expect(propertyAt(properties, path)).toEqual(value)
  })

  it('is missing if there are no properties, or the list is longer than that of a trait', () => {
    expect(propertyAt(undefined, 'total')).toBeUndefined()
    expect(propertyAt(listOf(100), 'list')).toHaveLength(100)
    expect(propertyAt(listOf(101), 'list')).toBeUndefined()
  })
})

const scalar = fc.oneof(
  fc.constantFrom('', 'a', 'ab', '2026-10-03', '2026-11-02T10:00:00Z', 'x'),
  fc.constantFrom(-1, 0, 1, 100, 1.5),
  fc.boolean(),
)
const value = fc.oneof(scalar, fc.constant(null), fc.array(scalar, { maxLength: 3 }))
const operator = fc.oneof(
  fc.record({ is: scalar }),
  fc.record({ isNot: scalar }),
  fc.record({ in: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ notIn: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ contains: fc.constantFrom('a', 'b') }),
  fc.record({ startsWith: fc.constantFrom('a', '2026') }),
  ...['atLeast', 'atMost', 'moreThan', 'lessThan'].map((name) =>
    fc.integer({ min: -1, max: 2 }).map((n) => ({ [name]: n })),
  ),
  ...['before', 'after'].map((name) => fc.constantFrom('-30d', '2026-11-01T00:00:00Z').map((at) => ({ [name]: at }))),
)

describe('a condition on properties', () => {
  it('holds exactly if the same condition on a trait does, at the top level and nested', () => {
    fc.assert(
      fc.property(fc.option(value, { nil: undefined }), operator, (given, by) => {
        const traits = new Map<string, TraitValue>(given === undefined ? [] : [['p', given]])
        const { holds } = compileCondition({ trait: 'p', ...by })(userState({ traits }), NOW, () => false)
        const member = given === undefined ? {} : { p: given }
        expect(find({ property: 'p', ...by }, member).holds).toBe(holds)
        expect(find({ property: 'a.b.p', ...by }, { a: { b: member } }).holds).toBe(holds)
        expect(find({ not: { any: [{ property: 'p', ...by }] } }, member).holds).toBe(!holds)
      }),
      { numRuns: 1_000 },
    )
  })

  it("returns the leaf that decided and the event's value", () => {
    const leaf = { property: 'total', atLeast: 100 }
    const currency = { property: 'currency', is: 'EUR' }
    const where = { all: [leaf, { not: currency }] }
    expect(find(where, { total: 40 })).toEqual({ holds: false, leaf, negated: false, actual: 40 })
    expect(find(where, { total: 100, currency: 'EUR' })).toEqual({
      holds: false,
      leaf: currency,
      negated: true,
      actual: 'EUR',
    })
    expect(find(where, { total: 100 })).toMatchObject({ holds: true })
    expect(find(where)).toEqual({ holds: false, leaf, negated: false, actual: undefined })
  })
})

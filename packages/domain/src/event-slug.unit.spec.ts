import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventSlug, isReservedEventName } from './event-slug.ts'

describe('eventSlug (decisions.md, Track event, slug)', () => {
  it.each([
    ['Checkout Completed', 'checkout_completed'],
    ['checkout_completed', 'checkout_completed'],
    ['  --Checkout...Completed!  ', 'checkout_completed'],
    ['A', 'a'],
    ['a_____b', 'a_b'],
    ['42', '42'],
    ['Käse gekauft', 'käse_gekauft'],
    ['Ka\u0308se gekauft', 'käse_gekauft'],
    ['購入 完了', '購入_完了'],
    ['__proto__', 'proto'],
    ['constructor', 'constructor'],
    ['🎉', ''],
    ['---', ''],
    ['', ''],
  ])('%j has the slug %j', (name, slug) => {
    expect(eventSlug(name)).toBe(slug)
  })

  it('is its own slug, and holds only letters, digits and single inner underscores', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
        const slug = eventSlug(name)
        expect(slug).toMatch(/^(?:[\p{L}\p{Nd}]+(?:_[\p{L}\p{Nd}]+)*)?$/u)
        expect(eventSlug(slug)).toBe(slug)
      }),
    )
  })

  it('ignores case, padding and the composition of characters', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zäöü0-9 ._-]{1,40}$/), (name) => {
        expect(eventSlug(` ${name.toUpperCase()} `)).toBe(eventSlug(name))
        expect(eventSlug(name.normalize('NFD'))).toBe(eventSlug(name))
      }),
    )
  })
})

describe('isReservedEventName (decisions.md, Track event, form:*)', () => {
  it.each([
    ['form:shown', true],
    ['FORM:Shown', true],
    ['  form:', true],
    ['form', false],
    ['form shown', false],
    ['my form:shown', false],
    ['form :shown', false],
  ])('%j: %s', (name, reserved) => {
    expect(isReservedEventName(name)).toBe(reserved)
  })
})

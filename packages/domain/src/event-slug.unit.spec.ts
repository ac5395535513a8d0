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
    ['ปี', 'ปี'],
    ['ซื้อ แล้ว', 'ซื้อ_แล้ว'],
    ['कील', 'कील'],
    ['שָׁלוֹם', 'שָׁלוֹם'],
    ['İptal', 'i\u0307ptal'],
    ['H\u0331at', '\u1e96at'],
    ['購入 完了', '購入_完了'],
    ['__proto__', 'proto'],
    ['constructor', 'constructor'],
    ['🎉', ''],
    ['---', ''],
    ['\u0301', ''],
    ['\u0301abc \u0e35', 'abc'],
    ['Liked ❤\ufe0f', 'liked'],
    ['❤\ufe0f', ''],
    ['Step 1\ufe0f\u20e3 done', 'step_1_done'],
    ['葛\u{e0100}飾', '葛飾'],
    ['e\u034f\u0301', 'é'],
    ['র\u200d্যাব গেল', 'র্যাব_গেল'],
    ['می\u200cخواهم', 'می_خواهم'],
    ['a\u200d\u0301', 'á'],
    ['\u200d\u0301', ''],
    ['ＡＢ', 'ａｂ'],
    ['', ''],
  ])('%j has the slug %j', (name, slug) => {
    expect(eventSlug(name)).toBe(slug)
  })

  it.each([
    ['ปี', 'ปู', 'ป'],
    ['काल', 'कील', 'किल', 'कल'],
    ['মা', 'মি', 'মু'],
    ['قَلَم', 'قلم'],
    ['র\u200d্যাব', 'র যাব'],
    ['ক\u200dা', 'ক\u200dি', 'ক'],
  ])('tells letters with different marks apart: %s, %s', (...names) => {
    expect(new Set(names.map(eventSlug)).size).toBe(names.length)
  })

  it('is its own slug, and holds only letters with their marks, digits and single inner underscores', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
        const slug = eventSlug(name)
        expect(slug).toMatch(/^(?:(?:\p{L}\p{M}*|\p{Nd})+(?:_(?:\p{L}\p{M}*|\p{Nd})+)*)?$/u)
        expect(eventSlug(slug)).toBe(slug)
        expect(slug).toBe(slug.normalize('NFC'))
        expect(eventSlug(name.normalize('NFD'))).toBe(slug)
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

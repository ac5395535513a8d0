import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseEventProperties } from './event-properties.ts'

const rejected = (message: string): unknown => expect.objectContaining({ outcome: 'rejected', message })
/** As a caller sends it: `JSON.parse` makes an own property of `__proto__`. */
const parse = (properties: unknown) => parseEventProperties(JSON.parse(JSON.stringify(properties)))

/** `{"a":"xx…"}` of exactly this many bytes, in strings of 2,000 characters. */
function ofBytes(bytes: number): object {
  const items = Array.from({ length: Math.floor((bytes - 100) / 2_003) }, () => 'x'.repeat(2_000))
  const room = bytes - Buffer.byteLength(JSON.stringify({ items, rest: '' }))
  return { items, rest: 'x'.repeat(room) }
}

const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
const nestedArrays = (levels: number): unknown => (levels === 0 ? 1 : [nestedArrays(levels - 1)])

describe('the properties of an event (decisions.md, Track event)', () => {
  it.each([
    {},
    { a: null, b: true, c: 0, d: -1.5e300, e: '', f: [], g: {} },
    { items: [{ sku: 'A-1', tags: [['x']] }, 1, null] },
    { '': 1, 'a.b': 1, constructor: 1, 'ключ 🎉': 'значение' },
    { ['k'.repeat(100)]: 'v'.repeat(2_048), ['😀'.repeat(100)]: '😀'.repeat(2_048) },
    nested(5),
    { a: nestedArrays(4) },
    { many: Array.from({ length: 5_000 }, () => 1) },
    ofBytes(32_767),
    ofBytes(32_768),
  ])('are kept as given (%#)', (properties) => {
    expect(parse(properties)).toEqual({ outcome: 'ok', properties })
  })

  it('are an empty object for an empty array, as PHP writes it', () => {
    expect(parse([])).toEqual({ outcome: 'ok', properties: {} })
    expect(parse({ nested: [] })).toEqual({ outcome: 'ok', properties: { nested: [] } })
  })

  it('may have the name __proto__ at any level', () => {
    const text = '{"__proto__":{"a":1},"b":[{"__proto__":2}]}'
    const parsed = parseEventProperties(JSON.parse(text))
    expect(parsed.outcome === 'ok' && JSON.stringify(parsed.properties)).toBe(text)
  })

  it.each<[string, unknown]>([
    ['properties must be an object', 'a'],
    ['properties must be an object', 1],
    ['properties must be an object', false],
    ['properties must be an object', [{ a: 1 }]],
    [
      `properties.items[3].${'n'.repeat(40)}… must have a name of at most 100 characters`,
      { items: [1, 2, 3, { ['n'.repeat(101)]: 1 }] },
    ],
    [
      'properties.items[3].name must be at most 2048 characters long',
      { items: [1, 2, 3, { name: 'x'.repeat(2_049) }] },
    ],
    ['properties.a must be at most 2048 characters long', { a: '😀'.repeat(2_049) }],
    ['properties.a[1][0] must be at most 2048 characters long', { a: [[], ['x'.repeat(2_049)]] }],
    ['properties.a.a.a.a.a must not be an object or array: properties have at most 5 levels', nested(6)],
    [
      'properties.a[0][0][0][0] must not be an object or array: properties have at most 5 levels',
      { a: nestedArrays(5) },
    ],
    ['properties must be at most 32768 bytes long, as JSON without white space', ofBytes(32_769)],
  ])('%s', (message, properties) => {
    expect(parse(properties)).toEqual(rejected(message))
  })

  it('are refused with a number that is not finite', () => {
    expect(parseEventProperties(JSON.parse('{"a":[1,-1e400]}'))).toEqual(
      rejected('properties.a[1] must be a finite number that is kept without rounding: send a longer one as text'),
    )
  })

  it('are kept exactly if they are within every limit', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'k'.repeat(100), '😀'.repeat(101)))
    const string = fc.oneof(fc.string(), fc.constantFrom('x'.repeat(2_048), '😀'.repeat(2_048), 'x'.repeat(2_049)))
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 7, withCrossShrink: true },
        fc.oneof(string, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 8 }),
        fc.array(fc.tuple(word, tie('value')), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
      ),
    }))
    const objects = fc.array(fc.tuple(word, value), { maxLength: 8 }).map((entries) => Object.fromEntries(entries))
    fc.assert(
      fc.property(objects, (given) => {
        const text = JSON.stringify(given)
        const parsed = parseEventProperties(JSON.parse(text))
        expect(parsed.outcome === 'ok').toBe(isWithinLimits(given))
        expect(parsed.outcome === 'ok' ? JSON.stringify(parsed.properties) : parsed.message.slice(0, 10)).toBe(
          parsed.outcome === 'ok' ? text : 'properties',
        )
      }),
      { numRuns: 500 },
    )
  })
})

/** The same limits in other words: by the JSON text and every string in it. */
function isWithinLimits(properties: object): boolean {
  const names: string[] = []
  const strings: string[] = []
  const levels: number[] = []
  const visit = (value: unknown, level: number): void => {
    if (typeof value === 'string') strings.push(value)
    if (typeof value !== 'object' || value === null) return
    levels.push(level)
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) names.push(name)
      visit(member, level + 1)
    }
  }
  visit(properties, 1)
  return (
    Buffer.from(JSON.stringify(properties)).length <= 32_768 &&
    Math.max(...levels) <= 5 &&
    names.every((name) => Array.from(name).length <= 100) &&
    strings.every((string) => Array.from(string).length <= 2_048)
  )
}

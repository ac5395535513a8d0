import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BYTES_OF_AN_ITEM, weighBody } from './weigh-body.ts'

const weigh = (text: string) => weighBody(Buffer.from(text))

/** Returns the names of all members, at any level. */
function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(namesIn)
  return Array.isArray(value) ? inner : [...Object.keys(value), ...inner]
}

function itemsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((member) => (Array.isArray(member) ? (member as unknown[]) : []))
}

/** Returns the bytes of a text, and throws when more are read than `maxReads`. */
function countedBytes(text: string, maxReads: number): Uint8Array {
  let reads = 0
  return new Proxy(new Uint8Array(Buffer.from(text)), {
    get: (bytes, property) => {
      if (property !== 'length') reads += 1
      if (reads > maxReads) throw new RangeError(`More than ${maxReads} bytes were read`)
      return Reflect.get(bytes, property, bytes) as unknown
    },
  })
}

/** Half of the largest batch. */
const HALF = 256_000
/** Less: counting takes time. */
const MANY = 8_000

describe('the weight of a body (decisions.md, Busy and broken: Price)', () => {
  it('counts the elements of arrays that are members of the body, and the distinct names at any level', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1), (value, space) => {
        const text = JSON.stringify(value, undefined, space)
        const { bytes, items, names } = weigh(text)
        expect([bytes, items]).toEqual([Buffer.byteLength(text), itemsIn(value).length])
        // `stringify` writes each name in one way, but two names may share a hash.
        expect(Math.abs(names - new Set(namesIn(value)).size)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it.each([
    ['{"items":[]}', 0],
    ['{"items":[ \n ]}', 0],
    ['{"items":[1]}', 1],
    ['{"items":[[1,2],{"a":[3,4]},"]},{"]}', 3],
    ['{"items":{"a":[1,2]}}', 0],
    ['{"it\\u0065ms":[1,2]}', 2],
    ['{"items":[1],"other":[2,3]}', 3],
    ['{"a":"\\"[1,2]","b":"\\\\","c":[1,2]}', 2],
    ['{"items":[1,2', 1],
    ['}}]]{"items":[1', 0],
  ])('counts %s as %i items', (text, items) => {
    expect(weigh(text).items).toBe(items)
  })

  it('adds up the bytes of items beyond 8 KiB each', () => {
    const sizes = [10, BYTES_OF_AN_ITEM, BYTES_OF_AN_ITEM + 5, 3 * BYTES_OF_AN_ITEM]
    const items = sizes.map((bytes) => 'x'.repeat(bytes - 2))
    expect(weigh(JSON.stringify({ items })).bytesBeyond).toBe(5 + 2 * BYTES_OF_AN_ITEM)
  })

  it('counts tens of thousands of names to within a tenth', () => {
    const names = Array.from({ length: 46_000 }, (_, index) => ({ [index.toString(36)]: 1 }))
    expect(weigh(JSON.stringify({ x: [...names, ...names] })).names).toBeGreaterThan(41_400)
  })

  it('reads any bytes to their end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { items, names, bytesBeyond } = weighBody(bytes)
        expect(items + names + bytesBeyond).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  it.each([
    ['colons after a name', `{"${'a'.repeat(HALF)}"${':'.repeat(HALF)}`],
    ['colons after a name without an end', `{${':"'.repeat(MANY)}`],
    ['colons after empty names', '"":'.repeat(MANY)],
    ['escapes', `"${'\\"'.repeat(MANY)}`],
    ['white space in an array', `{"a":[${' '.repeat(MANY)}${']'.repeat(MANY)}`],
    ['white space in many arrays', `{${'[ ]'.repeat(MANY)}`],
    ['brackets', `${'['.repeat(MANY)}${']'.repeat(MANY)}`],
    ['commas', `{"a":[${','.repeat(MANY)}`],
  ])('reads a byte twice at most: %s', (_case, text) => {
    const { bytes } = weighBody(countedBytes(text, 2 * text.length + 2))
    expect(bytes).toBe(text.length)
  })

  it('counts a name that is written in two ways twice, and a string that is no name never', () => {
    expect(weigh('{"a":1,"\\u0061":2}').names).toBe(2)
    expect([weigh('["a"]'), weigh(':::')].map(({ names }) => names)).toEqual([0, 0])
  })
})

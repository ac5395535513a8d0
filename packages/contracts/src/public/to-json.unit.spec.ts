import { describe, expect, it } from 'vitest'
import { toJson } from './to-json.ts'

/** Returns the message about a value that is not serialized. */
function problemOf(properties: unknown): string | undefined {
  try {
    toJson({ properties })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const circle: Record<string, unknown> = {}
circle['in'] = { of: circle }
const list: unknown[] = []
list.push(list)

function deep(levels: number): object {
  let value = {}
  for (let level = 0; level < levels; level += 1) value = { in: value }
  return value
}

class Money {
  readonly amount = 5
  readonly #currency = 'EUR'
  toString = undefined
  currency(): string {
    return this.#currency
  }
}

describe('a value that JSON would drop or change without an error is refused at its place', () => {
  it.each([
    ['NaN', { score: Number.NaN }, 'properties.score must be a finite number, not NaN'],
    ['Infinity', { a: { b: [1, Infinity] } }, 'properties.a.b[1] must be a finite number, not Infinity'],
    ['-Infinity', { score: -Infinity }, 'properties.score must be a finite number, not -Infinity'],
    ['an invalid date', { at: new Date(Number.NaN) }, 'properties.at must be a valid date'],
    ['undefined in a list', { tags: ['a', undefined] }, 'properties.tags[1] must be JSON, not undefined'],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is the case
    ['a hole in a list', { tags: ['a', , 'b'] }, 'properties.tags[1] must be JSON, not undefined'],
    ['a BigInt', { total: [{ ok: 1 }, { price: 1n }] }, 'properties.total[1].price must be JSON, not bigint'],
    ['an object that contains itself', circle, 'properties.in.of must not contain itself'],
    ['a list that contains itself', { list }, 'properties.list[0] must not contain itself'],
    ['a value without end', deep(50_000), `properties${'.in'.repeat(19)} must have at most 20 levels`],
    ['a function', { onClick: () => 1 }, 'properties.onClick must be JSON, not function'],
    ['a symbol', { kind: Symbol('a') }, 'properties.kind must be JSON, not symbol'],
    ['a Map', { plan: new Map([['a', 1]]) }, 'properties.plan must be JSON, not Map'],
    ['a Set', { tags: new Set(['a']) }, 'properties.tags must be JSON, not Set'],
    ['a RegExp', { like: /a/ }, 'properties.like must be JSON, not RegExp'],
    ['an Error', { cause: new Error('a') }, 'properties.cause must be JSON, not Error'],
    ['a promise', { later: Promise.resolve(1) }, 'properties.later must be JSON, not Promise'],
    ['bytes', { of: new Uint8Array(2) }, 'properties.of must be JSON, not Uint8Array'],
    ['a boxed NaN', { score: Object(Number.NaN) as unknown }, 'properties.score must be JSON, not Number'],
    ['a lone surrogate', { name: 'a\ud83d' }, 'properties.name must be well-formed Unicode'],
    ['a name with a lone surrogate', { 'a\ud83d': 1 }, 'properties.a\ud83d must be named in well-formed Unicode'],
    [
      'what toJSON returns',
      { of: { toJSON: (): object => ({ score: Number.NaN }) } },
      'properties.of.score must be a finite number, not NaN',
    ],
    ['properties that are a list of NaN', [Number.NaN], 'properties[0] must be a finite number, not NaN'],
    ['properties that are NaN', Number.NaN, 'properties must be a finite number, not NaN'],
  ])('%s', (_what, properties, problem) => {
    expect(problemOf(properties)).toBe(problem)
  })
})

describe('a value that JSON keeps is serialized', () => {
  it.each([
    [
      'text, numbers, booleans, null, lists and objects',
      { a: 'ü漢🎉', b: -1.5e300, c: false, d: null, e: [[], {}] },
      undefined,
    ],
    ['an undefined member: omitted', { a: undefined, b: 1 }, { b: 1 }],
    ['-0: 0', { a: -0 }, { a: 0 }],
    ['a date: its ISO text', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['an object with toJSON', { of: new URL('https://a.example/') }, { of: 'https://a.example/' }],
    ['toJSON that returns null', { of: { toJSON: (): null => null } }, { of: null }],
    ['the own members of another class', { of: new Money() }, { of: { amount: 5 } }],
    ['an object without prototype', { of: Object.assign(Object.create(null), { a: 1 }) as unknown }, { of: { a: 1 } }],
    ['an object in two places', ((shared) => ({ a: shared, b: shared }))({ c: 1 }), { a: { c: 1 }, b: { c: 1 } }],
    ['an integer beyond 2^53, as the number that it is', { a: 2 ** 60 }, { a: 2 ** 60 }],
    ['a member named __proto__', JSON.parse('{"__proto__":1}') as unknown, undefined],
  ])('%s', (_what, properties, expected) => {
    expect(problemOf(properties)).toBeUndefined()
    expect(JSON.parse(toJson({ properties }))).toEqual({ properties: expected ?? properties })
  })
})

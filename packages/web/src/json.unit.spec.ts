import { describe, expect, it } from 'vitest'
import { toJson } from './json.ts'

/** Returns the message about a value that is not serialized. */
function problemOf(properties: unknown): string | undefined {
  try {
    toJson({ eventName: 'a', properties })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const circle: Record<string, unknown> = {}
circle['of'] = circle

describe('a value that JSON would drop or change without an error is refused at its place', () => {
  it.each([
    ['NaN', { score: Number.NaN }, 'properties.score must be a finite number, not NaN'],
    ['Infinity', { a: { b: [1, -Infinity] } }, 'properties.a.b[1] must be a finite number, not -Infinity'],
    ['an invalid date', { at: new Date(Number.NaN) }, 'properties.at must be a valid date'],
    ['undefined in a list', { tags: ['a', undefined] }, 'properties.tags[1] must be JSON, not undefined'],
    ['a function', { onClick: () => 1 }, 'properties.onClick must be JSON, not function'],
    ['a symbol', { kind: Symbol('a') }, 'properties.kind must be JSON, not symbol'],
    ['a BigInt', { total: 1n }, 'properties.total must be JSON, not bigint'],
    ['a Map', { plan: new Map([['a', 1]]) }, 'properties.plan must be JSON, not Map'],
    ['a Set in a list', { tags: [new Set(['a'])] }, 'properties.tags[0] must be JSON, not Set'],
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

  it('an object that contains itself', () => expect(problemOf(circle)).toBe('properties.of must not contain itself'))
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
    ['an object in two places', ((shared) => ({ a: shared, b: shared }))({ c: 1 }), { a: { c: 1 }, b: { c: 1 } }],
    ['an integer beyond 2^53, as the number that it is', { a: 2 ** 60 }, { a: 2 ** 60 }],
    ['a member named __proto__', JSON.parse('{"__proto__":1}') as unknown, undefined],
  ])('%s', (_what, properties, expected) => {
    expect(problemOf(properties)).toBeUndefined()
    expect(JSON.parse(toJson({ properties }))).toEqual({ properties: expected ?? properties })
  })
})

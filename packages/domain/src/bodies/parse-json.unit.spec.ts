import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeeperThan, parseJson, parsePythonJson, parseUncheckedJson } from './parse-json.ts'

const parse = (text: string) => parseJson(Buffer.from(text))
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
const rejected = (text: string) => ({ outcome: 'rejected', message: expect.stringContaining(text) })

describe('parseJson (decisions.md, Order of checks: JSON)', () => {
  it.each(['', 'x', '{', '{"a":1,}', '\uFEFF{}', '{"a":NaN}', "{'a':1}"])(
    'refuses text that is not JSON: %j',
    (text) => {
      expect(parse(text)).toMatchObject(rejected('JSON'))
    },
  )

  it.each(['[]', '1', '"a"', 'null', 'true'])('refuses JSON that is not an object: %s', (text) => {
    expect(parse(text)).toMatchObject(rejected('JSON object'))
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(parseJson(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toMatchObject(rejected('UTF-8'))
    expect(parseJson(Buffer.from('{}', 'utf16le'))).toMatchObject(rejected('JSON'))
  })

  it('takes 8 levels, and refuses 9 and 49,000', () => {
    expect(parse(nested(8))).toMatchObject({ outcome: 'ok' })
    expect(parse(nested(9))).toMatchObject(rejected('deeper than 8'))
    expect(parse(nested(49_000))).toMatchObject(rejected('deeper than 8'))
  })

  it('counts no brackets inside strings', () => {
    expect(parse('{"a":"[[[[[[[[[[{{{{{{\\"[[[[[[[["}')).toMatchObject({ outcome: 'ok' })
    expect(parse('{"a":"\\\\","b":"[[[[[[[[["}')).toMatchObject({ outcome: 'ok' })
    expect(parse('{"a":"\\\\","b":[[[[[[[[]]]]]]]]}')).toMatchObject(rejected('deeper than 8'))
  })

  it.each([
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    '{"a":"\\uDFFF"}',
    '{"\\u0000":1}',
    '{"a":{"b":["\\uD83D"]}}',
    '{"\\udc00":1}',
  ])('refuses U+0000 and lone surrogates anywhere: %s', (text) => {
    expect(parse(text)).toMatchObject(rejected('U+0000'))
  })

  it.each(['{"a":"\\ud83d\\ude00"}', '{"a":"\\\\u0000"}', '{"a":"😀"}'])('takes well-formed strings: %s', (text) => {
    expect(parse(text)).toMatchObject({ outcome: 'ok' })
  })

  it('reads a number that it would round as Infinity, also in a batch', () => {
    const text = '{"id":1193046900000000099,"list":[12345678901234567890,"12345678901234567890",9007199254740991]}'
    const body = { id: Infinity, list: [Infinity, '12345678901234567890', 9_007_199_254_740_991] }
    expect(parse(text)).toEqual({ outcome: 'ok', body })
    expect(parseUncheckedJson(Buffer.from(text))).toEqual({ outcome: 'ok', body })
  })

  it.each([
    ['{"a":NaN,"b":[Infinity,-Infinity, NaN ],"c":"NaN, \\"Infinity"}', [Infinity, [Infinity, Infinity, Infinity]]],
    ['{"a":12345678901234567890,"b":NaN}', [Infinity, Infinity]],
  ])('reads the numbers that only Python writes as Infinity, where asked: %s', (text, [a, b]) => {
    expect(parsePythonJson(Buffer.from(text))).toMatchObject({ outcome: 'ok', body: { a, b } })
    expect(parse(text)).toMatchObject(rejected('JSON'))
    expect(parseUncheckedJson(Buffer.from(text))).toMatchObject(rejected('JSON'))
  })

  it.each([
    '1NaN',
    'NaN1',
    '-NaN',
    '1-Infinity',
    '--Infinity',
    'NaNNaN',
    'nan',
    'Inf',
    '[NaN',
    'NaN,',
    '"NaN',
    'NaN.5',
    '{NaN:1}',
    'x',
  ])('still refuses text that is no JSON: %s', (value) => {
    expect(parsePythonJson(Buffer.from(`{"a":${value}}`))).toMatchObject(rejected('JSON'))
  })

  it('keeps words in strings beside such a number', () => {
    const read = parsePythonJson(Buffer.from('{"NaN":"-Infinity","\\"NaN":NaN}'))
    expect(read).toEqual({ outcome: 'ok', body: { NaN: '-Infinity', '"NaN': Infinity } })
  })

  it('keeps __proto__ an own property', () => {
    const parsed = parse('{"__proto__":{"a":1}}')
    expect(parsed.outcome === 'ok' && Object.keys(parsed.body)).toEqual(['__proto__'])
  })

  it('measures the depth of the parsed value', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
    fc.assert(
      fc.property(fc.json({ maxDepth: 12 }), fc.integer({ min: 1, max: 12 }), (text, max) => {
        expect(isDeeperThan(text, max)).toBe(depthOf(JSON.parse(text)) > max)
      }),
    )
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markInexactNumbers } from './mark-inexact-numbers.ts'

const marked = (json: string) => markInexactNumbers(json).includes('1e999')
/** Returns one item if a text is JSON. */
const parses = (text: string) => {
  try {
    return [JSON.parse(text) !== undefined]
  } catch {
    return []
  }
}

describe('numbers that JSON.parse would round (decisions.md, Order of checks, Numbers)', () => {
  it.each([
    '12345678901234567890',
    '1193046900000000099',
    '-1193046900000000099',
    '9007199254740993',
    '90071992547409936',
    '18446744073709551615',
    '18446744073709551616',
    '1193046900000000099.0',
    '1.193046900000000099e18',
    '1193046900000000099E0',
    '12345678901234567890.5',
    '9.007199254740993e15',
    '100000000000000000000000000000001',
    `9007199254740993.${'0'.repeat(100_000)}1`,
  ])('are marked: %s', (number) => {
    expect(markInexactNumbers(`{"a":[${number}]}`)).toBe(`{"a":[${number.startsWith('-') ? '-' : ''}1e999]}`)
  })

  it.each([
    '0',
    '-0',
    '9007199254740991',
    '-9007199254740991',
    '9007199254740992',
    '1193046900000000000',
    '100000000000000000000',
    '1e300',
    '1.7976931348623157e308',
    '6.02214076e23',
    '6.0221407599999999e+23',
    '1.0E21',
    '0.1',
    '0.10000000000000001',
    '0.10000000000000000001',
    '3.14159265358979323846',
    '1234567890123.123456789012345',
    '1e-400',
    '1e400',
  ])('are none of these: %s', (number) => {
    expect(marked(`{"a":[${number}]}`)).toBe(false)
  })

  it('are left in strings and names', () => {
    const json = '{"12345678901234567890":"12345678901234567890","a\\\\":"\\"12345678901234567890","b":1}'
    expect(markInexactNumbers(json)).toBe(json)
  })

  it('are found at any place in a text', () => {
    for (let before = 0; before < 40; before += 1)
      for (const [number, isMarked] of [
        ['9007199254740993', true],
        ['9007199.254740993e9', true],
        ['900719925474099', false],
      ] as const)
        expect(marked(`[${' '.repeat(before)}${number}]`)).toBe(isMarked)
  })

  it('are marked alone', () => {
    const json = '{"a":12345678901234567890,"b":9007199254740991,"c":[-12345678901234567890,"12345678901234567890"]}'
    expect(JSON.parse(markInexactNumbers(json))).toEqual({
      a: Infinity,
      b: 9_007_199_254_740_991,
      c: [-Infinity, '12345678901234567890'],
    })
  })

  it('are no number that a program prints for a double, with as many digits as it likes', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: 0, max: 16 }),
        (value, digits) => {
          expect(marked(`[${JSON.stringify(value)}]`)).toBe(false)
          expect(marked(`[${value.toExponential(digits)}]`)).toBe(false)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('are exactly the whole numbers that JSON does not return', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (value) => {
        expect(marked(`[${value}]`)).toBe(JSON.stringify(Number(value)) !== String(value))
      }),
    )
  })

  it('never make JSON of text that is none', () => {
    const piece = fc.constantFrom(
      '12345678901234567890',
      '1234567890.1234567890',
      '0',
      '-',
      '.',
      'e',
      'E+',
      '1',
      ',',
      '"',
      '[',
      ']',
      ' ',
      'x',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const json = `[${pieces.join('')}]`
        expect(parses(markInexactNumbers(json))).toEqual(parses(json))
      }),
      { numRuns: 2_000 },
    )
  })
})

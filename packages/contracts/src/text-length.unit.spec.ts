import { describe, expect, it } from 'vitest'
import { firstCharacters, isLongerThan } from './text-length.ts'

/** One character of two UTF-16 units. */
const FACE = '😀'

describe('the length of a text', () => {
  it.each([
    ['', 0, false],
    ['ab', 2, false],
    ['abc', 2, true],
    [FACE.repeat(128), 128, false],
    [FACE.repeat(255), 255, false],
    [FACE.repeat(256), 255, true],
    [`${FACE}a`, 1, true],
    [FACE.repeat(10_000), 255, true],
  ])('counts code points: %s has more than %i: %s', (text, max, expected) => {
    expect(isLongerThan(text, max)).toBe(expected)
  })

  it.each([
    ['abc', 2, 'ab'],
    [FACE.repeat(3), 2, FACE.repeat(2)],
    [`a${FACE}b`, 2, `a${FACE}`],
    [FACE, 1, FACE],
  ])('is cut between code points: of %s the first %i', (text, max, expected) => {
    expect(firstCharacters(text, max)).toBe(expected)
  })
})

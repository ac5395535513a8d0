import { expect, it } from 'vitest'
import { gapsOf } from './gaps.ts'

it.each([
  ['none', [1, 0, 2], []],
  ['one in the middle', [1, null, undefined, 0, 2], [[0, 3]]],
  ['one at the end', [1, 1, null], [[1, 2]]],
  ['one over the whole line', [null, null], [[0, 1]]],
  [
    'two',
    [null, 1, null, 1],
    [
      [0, 1],
      [1, 3],
    ],
  ],
])('gapsOf finds the gaps of a line: %s', (_, values, gaps) => {
  expect(gapsOf(values)).toEqual(gaps)
})

import { expect, it } from 'vitest'
import { readCounts } from './read-counts.ts'

const COUNTS = [
  { name: 'RECORDS', byDefault: 150_000 },
  { name: 'ROUNDS', byDefault: 3 },
]

it('the numbers of a benchmark have defaults', () => {
  expect(readCounts(COUNTS, [])).toEqual([150_000, 3])
  expect(readCounts(COUNTS, ['20', '1'])).toEqual([20, 1])
})

it.each([
  [['many'], 'RECORDS: many is not a whole number, 1 or more'],
  [['20', '0'], 'ROUNDS: 0 is not a whole number, 1 or more'],
  [['20', '1', '7'], '7: one argument too many'],
])('a benchmark refuses the arguments %j', (args, message) => {
  expect(() => readCounts(COUNTS, args)).toThrow(message)
})

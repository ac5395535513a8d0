import { expect, it } from 'vitest'
import { readCostOptions } from './cost-options.ts'

it('the cost benchmark measures everything by default', () => {
  expect(readCostOptions([])).toEqual({
    loads: ['events', 'properties', 'identifies', 'visits', 'forms', 'batches', 'answers'],
    rates: [20, 100, 300, 'flat'],
    seconds: 10,
    records: 200_000,
    traced: undefined,
    isSaved: false,
    isHelp: false,
  })
})

it('the cost benchmark measures the chosen loads and rates', () => {
  const options = readCostOptions([
    '--loads',
    'events,forms',
    '--rates',
    '100,flat',
    '--seconds',
    '5',
    '--records',
    '0',
  ])
  expect(options).toMatchObject({ loads: ['events', 'forms'], rates: [100, 'flat'], seconds: 5, records: 0 })
  expect(readCostOptions(['--rates', '']).rates).toEqual([])
})

it.each([
  ['--loads', 'clicks', '--loads: clicks is not one of events, properties, identifies, visits, forms'],
  ['--rates', '0', '--rates: 0 is not a whole number, 1 or more'],
  ['--traced', '2', '--traced: 2 is not a ratio from 0 to 1'],
  ['--seconds', 'ten', '--seconds: ten is not a whole number, 1 or more'],
])('the cost benchmark refuses %s %s', (option, value, message) => {
  expect(() => readCostOptions([option, value])).toThrow(message)
})

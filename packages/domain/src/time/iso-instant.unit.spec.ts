import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { isoInstant } from './iso-instant.ts'

/** The range of a `Date`. */
const MOST_MS = 8.64e15

it('isoInstant writes the same text as Date, for instants that repeat and alternate', () => {
  const instants = fc.array(
    fc.oneof(fc.constantFrom(0, -0, 1, 1_764_000_000_000), fc.integer({ min: -MOST_MS, max: MOST_MS })),
  )
  fc.assert(
    fc.property(instants, (all) => {
      for (const ms of all) expect(isoInstant(ms)).toBe(new Date(ms).toISOString())
    }),
  )
})

it('isoInstant throws for an invalid instant, and works afterwards', () => {
  const before = isoInstant(1)
  for (const ms of [Number.NaN, Infinity, Infinity, MOST_MS + 1, MOST_MS + 1])
    expect(() => isoInstant(ms)).toThrow(RangeError)
  expect(isoInstant(1)).toBe(before)
})

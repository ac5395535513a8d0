import { describe, expect, it } from 'vitest'
import { forecastEvents, unitsToLease } from './event-forecast.ts'

const NONE = new Map<number, number>()
/** The same number in each of twelve partitions. */
const evenly = (events: number) => new Map(Array.from({ length: 12 }, (_, partition) => [partition, events]))

describe('a forecast of events (decision 0017)', () => {
  it('expects the recent number in each partition', () => {
    expect(forecastEvents(NONE, new Map([[3, 8]]), 100)).toEqual(new Map([[3, 8]]))
  })

  it('covers the next 100 ms, even if the events were counted over a longer or shorter time', () => {
    expect(forecastEvents(NONE, new Map([[3, 8]]), 400)).toEqual(new Map([[3, 2]]))
    expect(forecastEvents(NONE, new Map([[3, 8]]), 50)).toEqual(new Map([[3, 8]]))
  })

  it('falls slowly and rises at once', () => {
    const before = new Map([
      [0, 8],
      [1, 8],
      [2, 0.15],
    ])
    const counted = new Map([
      [1, 20],
      [4, 1],
    ])
    expect(forecastEvents(before, counted, 100)).toEqual(
      new Map([
        [1, 20],
        [4, 1],
        [0, 4],
      ]),
    )
  })
})

describe('the units to lease', () => {
  it('are more than twice the expected events, within a maximum', () => {
    const forecast = new Map([
      [0, 6.2],
      [7, 1_000_000],
    ])
    expect(unitsToLease(forecast)).toEqual(
      new Map([
        [0, 15],
        [7, 10_000],
      ]),
    )
  })

  it('are none if each lease serves too few events, as in many partitions', () => {
    expect(unitsToLease(evenly(1))).toEqual(NONE)
    expect(unitsToLease(evenly(2)).size).toBe(12)
    expect(unitsToLease(new Map([...evenly(1), [3, 9]]))).toEqual(new Map([[3, 20]]))
  })

  it('are none if all leases together are not worth a call', () => {
    expect(unitsToLease(new Map([...evenly(1), [12, 7]]))).toEqual(NONE)
    expect(unitsToLease(new Map([...evenly(1), [12, 8]])).size).toBe(1)
  })
})

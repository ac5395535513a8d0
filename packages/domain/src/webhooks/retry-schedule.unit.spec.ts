import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RETRY_DELAYS_MS, retryDelayMs } from './retry-schedule.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const delayOf = (round: number, retryAfterMs: number) => retryDelayMs({ round, retryAfterMs }, { random: 0 })

describe('the delay after a failed attempt', () => {
  it('grows from five seconds to a day, and ends after nine retries', () => {
    const rounds = RETRY_DELAYS_MS.map((_, at) => retryDelayMs({ round: at + 1 }, { random: 0 }))
    expect(rounds).toEqual([
      5_000,
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      2 * HOUR_MS,
      5 * HOUR_MS,
      10 * HOUR_MS,
      14 * HOUR_MS,
      20 * HOUR_MS,
      24 * HOUR_MS,
    ])
    expect(retryDelayMs({ round: 10 }, { random: 0 })).toBeUndefined()
  })

  it('is up to a tenth longer, and never shorter', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.double({ min: 0, max: 1, noNaN: true }), (round, random) => {
        const least = RETRY_DELAYS_MS[round - 1] ?? 0
        const delayMs = retryDelayMs({ round }, { random }) ?? 0
        expect(delayMs).toBeGreaterThanOrEqual(least)
        expect(delayMs).toBeLessThanOrEqual(least * 1.1)
      }),
    )
  })

  it('is the time that the endpoint asks for if that is longer, at most a day', () => {
    expect(delayOf(1, 60_000)).toBe(60_000)
    expect(delayOf(3, 60_000)).toBe(30 * MINUTE_MS)
    expect(delayOf(1, 48 * HOUR_MS)).toBe(24 * HOUR_MS)
    expect(delayOf(10, 60_000)).toBeUndefined()
  })

  it('follows another schedule, which may have no retries', () => {
    expect(retryDelayMs({ round: 2 }, { delaysMs: [1, 2], random: 0 })).toBe(2)
    expect(retryDelayMs({ round: 3 }, { delaysMs: [1, 2], random: 0 })).toBeUndefined()
    expect(retryDelayMs({ round: 1 }, { delaysMs: [], random: 0 })).toBeUndefined()
  })
})

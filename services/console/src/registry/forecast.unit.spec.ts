import { boundsOfMonth } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Forecast, forecastAtRate, forecastOf, isRough } from './forecast.ts'

const MONTH = '2026-11'
const { startMs, endMs } = boundsOfMonth(MONTH)
const on = (day: number, hour = 0) => Date.UTC(2026, 10, day, hour)
const monthly = (used: number, limit: number | null) => ({ used, added: used, limit, isMonthly: true })
/** Creates a count that is not monthly, with `added` additions this month. */
const lasting = (used: number, added: number, limit: number) => ({ used, added, limit, isMonthly: false })

/** Compares a forecast with the use at each moment. */
function isRight(
  forecast: Forecast,
  { used, limit, isMonthly }: { readonly used: number; readonly limit: number; readonly isMonthly: boolean },
  nowMs: number,
  usedAt: (atMs: number) => number,
): boolean {
  if (forecast.outcome === 'reached-on') {
    const isInTime = forecast.atMs > nowMs && (!isMonthly || forecast.atMs <= endMs)
    return isInTime && usedAt(forecast.atMs) >= limit - 1e-3 && usedAt(forecast.atMs - 2) < limit
  }
  if (forecast.outcome === 'not-this-month')
    return isMonthly && forecast.usedAtEnd >= used && forecast.usedAtEnd <= limit
  if (forecast.outcome === 'not-within-a-year') return !isMonthly && usedAt(nowMs + 364 * 86_400_000) < limit
  return forecast.outcome === 'reached' && used >= limit
}

function soonness(forecast: Forecast): number {
  if (forecast.outcome === 'reached') return -Infinity
  return forecast.outcome === 'reached-on' ? forecast.atMs : Infinity
}

describe('the forecast at this rate', () => {
  it.each<readonly [string, ReturnType<typeof monthly>, number, Forecast]>([
    [
      'half of the limit at half of the month',
      monthly(500, 1_000),
      on(16),
      { outcome: 'not-this-month', usedAtEnd: 1_000 },
    ],
    ['more than half then', monthly(750, 1_000), on(16), { outcome: 'reached-on', atMs: on(21) }],
    ['a tenth after two thirds', monthly(100, 1_000), on(21), { outcome: 'not-this-month', usedAtEnd: 150 }],
    ['the limit', monthly(1_000, 1_000), on(2), { outcome: 'reached' }],
    ['more than the limit, of a plan that was lowered', monthly(2_000, 1_000), on(2), { outcome: 'reached' }],
    ['a limit of nothing', monthly(0, 0), on(2), { outcome: 'reached' }],
    ['the limit in the first minute', monthly(1_000, 1_000), startMs, { outcome: 'reached' }],
    ['no limit', monthly(5, null), on(2), { outcome: 'unlimited' }],
    ['nothing', monthly(0, 1_000), on(16), { outcome: 'unused' }],
    ['much in the first minutes', monthly(900, 1_000), startMs + 1_800_000, { outcome: 'too-early' }],
    ['names, next year', lasting(4_000, 300, 5_000), on(16), { outcome: 'reached-on', atMs: on(16 + 50) }],
    ['names, few of them new', lasting(100, 1, 5_000), on(16), { outcome: 'not-within-a-year' }],
    ['names, none of them new', lasting(100, 0, 5_000), on(16), { outcome: 'unused' }],
  ])('covers %s', (_, use, nowMs, forecast) => {
    expect(forecastOf(use, MONTH, nowMs)).toEqual(forecast)
  })

  it('is rough in the first three days', () => {
    expect([on(1), on(3, 23), on(4), on(30)].map((nowMs) => isRough(MONTH, nowMs))).toEqual([true, true, false, false])
  })

  const uses = fc.record({
    used: fc.integer({ min: 0, max: 10_000_000 }),
    limit: fc.integer({ min: 0, max: 10_000_000 }),
    isMonthly: fc.boolean(),
  })
  const rates = fc.double({ min: 1e-9, max: 1_000, noNaN: true })
  const nows = fc.integer({ min: startMs, max: endMs - 1 })

  it('is the time when use reaches the limit: in the future, and before the end of the month for a monthly count', () => {
    fc.assert(
      fc.property(uses, rates, nows, (use, perMs, nowMs) => {
        const usedAt = (atMs: number) => use.used + perMs * (atMs - nowMs)
        expect(isRight(forecastAtRate(use, perMs, MONTH, nowMs), use, nowMs, usedAt)).toBe(true)
      }),
    )
  })

  it('is never later for a higher rate or more use', () => {
    const more = fc.record({
      used: fc.integer({ min: 0, max: 1_000 }),
      perMs: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(uses, rates, nows, more, (use, perMs, nowMs, { used, perMs: faster }) => {
        const now = soonness(forecastAtRate(use, perMs, MONTH, nowMs))
        const then = soonness(forecastAtRate({ ...use, used: use.used + used }, perMs + faster, MONTH, nowMs))
        expect(then).toBeLessThanOrEqual(now)
      }),
    )
  })
})

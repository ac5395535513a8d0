import { expect, it } from 'vitest'
import { boundsOfMonth, countsInOwnMonth, monthBefore, monthOf } from './month.ts'

it('monthOf returns the UTC calendar month of an instant, up to its last millisecond', () => {
  expect(monthOf('2026-11-30T23:59:59.999Z')).toBe('2026-11')
  const { startMs, endMs } = boundsOfMonth('2026-11')
  expect(new Date(startMs).toISOString()).toBe('2026-11-01T00:00:00.000Z')
  expect(new Date(endMs - 1).toISOString()).toBe('2026-11-30T23:59:59.999Z')
})

it('boundsOfMonth and monthBefore cross the end of a year', () => {
  expect(new Date(boundsOfMonth('2026-12').endMs).toISOString()).toBe('2027-01-01T00:00:00.000Z')
  expect([monthBefore('2027-01'), monthBefore('2026-03')]).toEqual(['2026-12', '2026-02'])
})

it('countsInOwnMonth is false for a record that may duplicate one of the previous month', () => {
  expect(countsInOwnMonth({ keyed: false, received: '2026-11-01T00:00:00.000Z' })).toBe(true)
  expect(countsInOwnMonth({ keyed: true, received: '2026-11-01T23:59:59.999Z' })).toBe(false)
  expect(countsInOwnMonth({ keyed: true, received: '2026-11-02T00:00:00.000Z' })).toBe(true)
})

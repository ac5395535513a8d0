import { expect, it } from 'vitest'
import { boundsOfMonth, countsInOwnMonth, monthBefore, monthOf } from './month.ts'

it('is the UTC calendar month of an instant, up to its last millisecond', () => {
  expect(monthOf('2026-11-30T23:59:59.999Z')).toBe('2026-11')
  const { startMs, endMs } = boundsOfMonth('2026-11')
  expect(new Date(startMs).toISOString()).toBe('2026-11-01T00:00:00.000Z')
  expect(new Date(endMs - 1).toISOString()).toBe('2026-11-30T23:59:59.999Z')
})

it('ends with the year in December, and begins with it in January', () => {
  expect(new Date(boundsOfMonth('2026-12').endMs).toISOString()).toBe('2027-01-01T00:00:00.000Z')
  expect([monthBefore('2027-01'), monthBefore('2026-03')]).toEqual(['2026-12', '2026-02'])
})

it('is where a record counts its user, unless it may be a duplicate of one of the month before', () => {
  expect(countsInOwnMonth({ keyed: false, received: '2026-11-01T00:00:00.000Z' })).toBe(true)
  expect(countsInOwnMonth({ keyed: true, received: '2026-11-01T23:59:59.999Z' })).toBe(false)
  expect(countsInOwnMonth({ keyed: true, received: '2026-11-02T00:00:00.000Z' })).toBe(true)
})

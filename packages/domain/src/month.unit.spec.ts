import { expect, it } from 'vitest'
import { boundsOfMonth, monthBefore, monthOf } from './month.ts'

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

import { describe, expect, it } from 'vitest'
import type { Result, VisitAnswer } from './result.ts'
import { scheduleAfter } from './schedule.ts'

const answered = (answer: Partial<VisitAnswer> = {}): Result<VisitAnswer> => ({
  outcome: 'answered',
  answer: { message: 'ok', userId: 'u', pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0, ...answer },
})

describe('the next visit', () => {
  it('is due after pingAgainIn, and at the next page only with pingOnNextPageVisit', () => {
    expect(scheduleAfter(answered(), 0)).toEqual({ afterMs: 60_000, onNextPage: false })
    expect(scheduleAfter(answered({ pingOnNextPageVisit: true }), 0)).toEqual({ afterMs: 60_000, onNextPage: true })
  })

  it('is never due by time if pingAgainIn is 0 or not a number', () => {
    expect(scheduleAfter(answered({ pingAgainIn: 0 }), 0).afterMs > 0).toBe(false)
    // An answer of another server.
    const strange = { ...answered(), answer: {} } as Result<VisitAnswer>
    expect(scheduleAfter(strange, 0).afterMs > 0).toBe(false)
  })

  it('is due within the maximum delay of a timer', () => {
    expect(scheduleAfter(answered({ pingAgainIn: 1e9 }), 0).afterMs).toBe(2 ** 31 - 1)
  })

  it('is not due after a refusal, because the next visit would be refused, too', () => {
    const schedule = scheduleAfter({ outcome: 'refused', status: 401, message: '' }, 0)
    expect(schedule).toEqual({ afterMs: 0 })
  })

  it.each([
    [0, 1_000],
    [200_000, 200_000],
  ])('is due at the end of a pause of %i ms, or at the next page, if there was no answer', (leftMs, afterMs) => {
    const schedule = scheduleAfter({ outcome: 'unanswered', reason: 'unreachable' }, leftMs)
    expect(schedule).toEqual({ afterMs, onNextPage: true })
  })
})

import { describe, expect, it } from 'vitest'
import type { Result, VisitAnswer } from './result.ts'
import { isDue, scheduleAfter } from './schedule.ts'

const NOW = 1_000_000
const answered = (answer: Partial<VisitAnswer> = {}): Result<VisitAnswer> => ({
  outcome: 'answered',
  answer: { message: 'ok', userId: 'u', pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0, ...answer },
})

describe('the next visit', () => {
  it('is due after pingAgainIn, and at the next page only if pingOnNextPageVisit says so', () => {
    const schedule = scheduleAfter(answered(), NOW)
    expect(isDue(schedule, NOW + 59_999, false)).toBe(false)
    expect(isDue(schedule, NOW + 59_999, true)).toBe(false)
    expect(isDue(schedule, NOW + 60_000, false)).toBe(true)
    const eager = scheduleAfter(answered({ pingOnNextPageVisit: true }), NOW)
    expect(isDue(eager, NOW, true)).toBe(true)
    expect(isDue(eager, NOW, false)).toBe(false)
  })

  it('is never due by time where pingAgainIn is 0, or is not a number', () => {
    expect(isDue(scheduleAfter(answered({ pingAgainIn: 0 }), NOW), Number.MAX_VALUE, false)).toBe(false)
    // What another server may say.
    const strange = { ...answered(), answer: {} } as Result<VisitAnswer>
    expect(isDue(scheduleAfter(strange, NOW), Number.MAX_VALUE, false)).toBe(false)
  })

  it('is not due after a refusal: the next one would be refused, too', () => {
    const schedule = scheduleAfter({ outcome: 'refused', status: 401, message: '' }, NOW)
    expect(isDue(schedule, Number.MAX_VALUE, true)).toBe(false)
  })

  it('is due after a minute, or at the next page, if there was no answer', () => {
    const schedule = scheduleAfter({ outcome: 'unanswered', reason: 'unreachable' }, NOW)
    expect(isDue(schedule, NOW + 59_999, false)).toBe(false)
    expect(isDue(schedule, NOW + 60_000, false)).toBe(true)
    expect(isDue(schedule, NOW, true)).toBe(true)
  })
})

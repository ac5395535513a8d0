import { describe, expect, it } from 'vitest'
import { daysAfter, scoreTrends } from './score-trends.ts'

const funnel = { queued: 0, delivered: 0, started: 0, finished: 0, dismissed: 0, expired: 0 }
const nps = (day: string, score: number, count: number) => {
  return { day, funnel, scores: [{ id: 'score', type: 'nps' as const, count, average: 8, nps: score }] }
}

describe('the trend of a score', () => {
  it('has each day of a short period, also those without answers', () => {
    const rating = { id: 'stars', type: 'rating' as const, count: 2, average: 4.5 }
    const days = [nps('2026-11-25', 50, 2), { ...nps('2026-11-27', -100, 1), scores: [rating] }]
    expect(scoreTrends(days, '2026-11-24', '2026-11-27')).toEqual([
      {
        id: 'score',
        type: 'nps',
        part: 'day',
        scores: [
          { from: '2026-11-24', value: null, count: 0 },
          { from: '2026-11-25', value: 50, count: 2 },
          { from: '2026-11-26', value: null, count: 0 },
          { from: '2026-11-27', value: null, count: 0 },
        ],
      },
      expect.objectContaining({ id: 'stars', type: 'rating' }),
    ])
    const stars = scoreTrends(days, '2026-11-24', '2026-11-27')[1]
    expect(stars?.scores.map(({ value }) => value)).toEqual([null, null, null, 4.5])
  })

  it('weights the days of a week with their answers', () => {
    // A Monday, its Sunday, and the next Monday.
    const days = [nps('2026-11-02', 100, 3), nps('2026-11-08', -100, 1), nps('2026-11-09', 0, 5)]
    const [trend] = scoreTrends(days, '2026-10-31', '2026-12-03')
    expect(trend?.part).toBe('week')
    expect(trend?.scores.slice(0, 3)).toEqual([
      { from: '2026-10-26', value: null, count: 0 },
      { from: '2026-11-02', value: 50, count: 4 },
      { from: '2026-11-09', value: 0, count: 5 },
    ])
  })

  it('begins with the first score, and counts months if that is long ago', () => {
    const days = [{ ...nps('2020-01-01', 0, 0), scores: [] }, nps('2026-01-31', 10, 1), nps('2026-11-27', 20, 1)]
    const [trend] = scoreTrends(days, null, '2026-11-27')
    expect(trend?.part).toBe('month')
    expect(trend?.scores[0]).toEqual({ from: '2026-01-01', value: 10, count: 1 })
    expect(trend?.scores).toHaveLength(11)
    expect(scoreTrends([], null, '2026-11-27')).toEqual([])
  })

  it('has about thirty points at most, up to half a year', () => {
    const lengths = [1, 31, 32, 190].map((days) => {
      const [trend] = scoreTrends([nps('2026-11-27', 0, 1)], daysAfter('2026-11-27', 1 - days), '2026-11-27')
      return trend?.scores.length
    })
    expect(lengths).toEqual([1, 31, 5, 28])
  })
})

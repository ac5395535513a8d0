import { expect, it } from 'vitest'
import { percent, ratio, scoreText } from './percent.ts'

it('shares are percentages, and a share of nothing is a dash', () => {
  expect([
    percent(1, 3),
    percent(1, 160),
    percent(2, 2),
    percent(0, 5),
    percent(0, 0),
    ratio(0.25),
    ratio(null),
  ]).toEqual(['33.3 %', '0.6 %', '100 %', '0 %', '–', '25 %', '–'])
})

it('a Net Promoter Score has a sign, and the mean of a rating one decimal', () => {
  expect([41.6, 0, -0.2, -100].map((value) => scoreText('nps', value))).toEqual(['+42', '0', '0', '−100'])
  expect([4, 3.27].map((value) => scoreText('rating', value))).toEqual(['4.0', '3.3'])
})

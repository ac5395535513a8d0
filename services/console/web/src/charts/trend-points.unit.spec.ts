import { expect, it } from 'vitest'
import { linePath, plottedPoints } from './trend-points.ts'

const point = (label: string, value: number | null) => ({ label, value, count: 1 })

it('values have their place in time and on the scale, and a line connects them across gaps', () => {
  const points = [point('Mon', -100), point('Tue', null), point('Wed', 50), point('Thu', 100)]
  const plotted = plottedPoints(points, -100, 100)
  expect(plotted.map(({ label, x, y }) => [label, x, y])).toEqual([
    ['Mon', 0, 100],
    ['Wed', 66.67, 25],
    ['Thu', 100, 0],
  ])
  expect(linePath(plotted)).toBe('M0 100L66.67 25L100 0')
})

it('one value alone is in the middle', () => {
  expect(plottedPoints([point('Mon', 3)], 1, 5)).toMatchObject([{ x: 50, y: 50 }])
  expect(plottedPoints([point('Mon', null)], 1, 5)).toEqual([])
  expect(linePath([])).toBe('')
})

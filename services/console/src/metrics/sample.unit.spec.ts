import { describe, expect, it } from 'vitest'
import { increasesOf, quantileMs } from './sample.ts'

const increases = (before: Record<string, number> | undefined, after: Record<string, number>) =>
  Object.fromEntries(increasesOf(before && new Map(Object.entries(before)), new Map(Object.entries(after))))

describe('increasesOf', () => {
  it('returns the increases of counters', () => {
    expect(increases({ a: 1, b: 5 }, { a: 4, b: 5, c: 2 })).toEqual({ a: 3, c: 2 })
  })

  it('treats a smaller counter as one of a new process', () => {
    expect(increases({ a: 100 }, { a: 3 })).toEqual({ a: 3 })
  })

  it('ignores the counts of a process that is read for the first time', () => {
    expect(increases(undefined, { a: 100 })).toEqual({})
  })
})

describe('quantileMs', () => {
  const buckets = new Map([
    [0.01, 50],
    [0.1, 90],
    [1, 100],
    [Infinity, 100],
  ])

  it('is linear within a bucket', () => {
    expect(quantileMs(buckets, 0.25)).toBeCloseTo(5)
    expect(quantileMs(buckets, 0.5)).toBeCloseTo(10)
    expect(quantileMs(buckets, 0.7)).toBeCloseTo(55)
    expect(quantileMs(buckets, 0.99)).toBeCloseTo(910)
  })

  it('is the last bound for longer durations', () => {
    expect(
      quantileMs(
        new Map([
          [0.01, 0],
          [2.5, 1],
          [Infinity, 10],
        ]),
        0.99,
      ),
    ).toBe(2_500)
  })

  it('is null without counts', () => {
    expect(quantileMs(new Map(), 0.5)).toBeNull()
    expect(
      quantileMs(
        new Map([
          [1, 0],
          [Infinity, 0],
        ]),
        0.5,
      ),
    ).toBeNull()
  })
})

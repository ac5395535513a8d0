import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEntryBuffer } from './entry-buffer.ts'

const FIRST = 1_000
const all = { isWanted: () => true, limit: 100 }

describe('the ring buffer of entries', () => {
  it('returns entries since a position, newest last', () => {
    const buffer = createEntryBuffer<string>(10, FIRST)
    buffer.push(['a', 'b'])
    const { entries, last, skipped } = buffer.read({ ...all, after: undefined })
    expect([entries, skipped]).toEqual([['a', 'b'], 0])
    buffer.push(['c'])
    expect(buffer.read({ ...all, after: last })).toEqual({ entries: ['c'], last: last + 1, skipped: 0 })
    expect(buffer.read({ ...all, after: last + 1 }).entries).toEqual([])
  })

  it('returns everything for the position of an earlier buffer', () => {
    const buffer = createEntryBuffer<string>(10, FIRST)
    buffer.push(['a'])
    expect(buffer.read({ ...all, after: FIRST - 500 })).toMatchObject({ entries: ['a'], skipped: 0 })
  })

  it('never holds more than its capacity, and counts each entry as returned, unwanted or skipped', () => {
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 30 }) }),
      fc.record({ skip: fc.integer({ min: 0, max: 30 }) }),
      fc.record({ read: fc.integer({ min: 1, max: 12 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 20 }), (steps, capacity) => {
        const buffer = createEntryBuffer<number>(capacity, FIRST)
        let [came, accounted, after, next] = [0, 0, FIRST, 0]
        const isRight = (limit: number): boolean => {
          const { entries, last, skipped } = buffer.read({ after, isWanted: () => true, limit })
          accounted += entries.length + skipped
          after = last
          const isInOrder = entries.every((entry, nth) => nth === 0 || entry > (entries[nth - 1] ?? -1))
          return isInOrder && entries.length <= Math.min(limit, capacity) && accounted === came
        }
        const areRight = steps.map((one) => {
          if ('read' in one) return isRight(one.read)
          if ('push' in one) buffer.push(Array.from({ length: one.push }, () => next++))
          else buffer.skip(one.skip)
          came += 'push' in one ? one.push : one.skip
          return true
        })
        expect(areRight).not.toContain(false)
      }),
    )
  })

  it('drops unwanted entries without counting them as skipped', () => {
    const buffer = createEntryBuffer<number>(10, FIRST)
    buffer.push([1, 2, 3, 4, 5, 6])
    const part = buffer.read({ after: FIRST, isWanted: (entry) => entry % 2 === 0, limit: 2 })
    expect(part).toMatchObject({ entries: [4, 6], skipped: 1 })
  })
})

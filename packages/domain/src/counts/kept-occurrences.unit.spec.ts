import { KEPT_OCCURRENCES } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTE, NOW, SECOND } from '../../test/form-fixtures.ts'
import { countWithin, keptOccurrences } from './event-history.ts'

interface Arrival {
  readonly received: number
  readonly occurredAt: number
}

/** In order of receipt, by callers whose clocks are right or ahead. `gapMs`: between one receipt and the next, at most. */
const arrivals = (gapMs: number, maxLength: number) =>
  fc
    .array(fc.record({ gap: fc.nat(gapMs), ahead: fc.constantFrom(0, SECOND, 2 * MINUTE, 5 * MINUTE) }), {
      minLength: maxLength / 2,
      maxLength,
    })
    .map((steps) => {
      let received = NOW
      return steps.map(({ gap, ahead }): Arrival => {
        received += gap
        return { received, occurredAt: received + ahead }
      })
    })
const windowMs = fc.integer({ min: 1, max: 20 * MINUTE })

/** Calls back after each arrival, with all times until then and those that are kept. */
function follow(
  all: readonly Arrival[],
  check: (arrival: Arrival, times: readonly number[], kept: readonly number[]) => void,
) {
  const times: number[] = []
  let kept: readonly number[] = []
  for (const arrival of all) {
    times.push(arrival.occurredAt)
    kept = keptOccurrences(kept, arrival.occurredAt, arrival.received)
    check(arrival, times, kept)
  }
}

function naiveCount(times: readonly number[], instant: number, withinMs: number): number {
  return times.filter((at) => instant - withinMs < at && at <= instant).length
}

const countOf = (latest: readonly number[], instant: number, withinMs: number) =>
  countWithin({ total: latest.length, latest }, instant, withinMs)

describe('the kept times of an event', () => {
  it('count exactly up to 50 at receipt and at occurrence, with at most 102 in the future', () => {
    fc.assert(
      // 102 of them, 3 s apart, take longer than the 5 minutes that a clock may be ahead.
      fc.property(arrivals(6 * SECOND, 240), windowMs, (all, withinMs) => {
        let mostAhead = 0
        follow(all, ({ received, occurredAt }, times, kept) => {
          mostAhead = Math.max(mostAhead, times.filter((at) => at > received).length)
          if (mostAhead > 2 * KEPT_OCCURRENCES) return
          for (const instant of [received, occurredAt]) {
            const naive = Math.min(naiveCount(times, instant, withinMs), KEPT_OCCURRENCES)
            expect(countOf(kept, instant, withinMs)).toBe(naive)
          }
        })
      }),
      { numRuns: 50 },
    )
  })

  it('are at most 153, ascending, however many are in the future', () => {
    fc.assert(
      fc.property(arrivals(SECOND, 600), (all) => {
        follow(all, (_arrival, _times, kept) => {
          expect(kept.length).toBeLessThanOrEqual(3 * KEPT_OCCURRENCES)
          expect(kept).toEqual(kept.toSorted((a, b) => a - b))
        })
      }),
      { numRuns: 20 },
    )
  })

  it('include of more than 102 in the future the 51 earliest and the 51 latest', () => {
    const ahead = Array.from({ length: 300 }, (_, at) => NOW + 1 + at)
    const kept = ahead.reduce<readonly number[]>((before, at) => keptOccurrences(before, at, NOW), [NOW])
    expect(kept).toEqual([NOW, ...ahead.slice(0, KEPT_OCCURRENCES), ...ahead.slice(-KEPT_OCCURRENCES)])
  })

  it('are all 80 of a caller whose clock is 1 s fast, which counts as more than 50', () => {
    const all = Array.from({ length: 80 }, (_, at) => ({
      received: NOW + at * MINUTE,
      occurredAt: NOW + at * MINUTE + SECOND,
    }))
    follow(all, ({ received }, times, kept) => {
      const happened = times.length - 1
      expect(countOf(kept, received, 80 * MINUTE)).toBe(Math.min(happened, KEPT_OCCURRENCES))
    })
  })
})

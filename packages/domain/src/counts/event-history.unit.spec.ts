import { KEPT_OCCURRENCES } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { history } from '../../test/form-fixtures.ts'
import { countOfSession, countWithin, withOccurrence } from './event-history.ts'

const instants = fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 120 })
const naiveCount = (all: readonly number[], from: number, to: number) =>
  all.filter((at) => from < at && at <= to).length

/** Received when it happened. */
const onTime = (occurredAt: number) => ({ occurredAt, received: occurredAt })

describe('the history of an event', () => {
  it('has the total and the 51 latest times, in order, however they arrive', () => {
    fc.assert(
      fc.property(instants, (all) => {
        const kept = history(all)
        expect(kept.total).toBe(all.length)
        expect(kept.latest).toEqual(all.toSorted((a, b) => a - b).slice(-KEPT_OCCURRENCES))
      }),
    )
  })

  it('counts a window exactly up to 50 for events that arrive in order, and all more as 51', () => {
    fc.assert(
      fc.property(
        instants,
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 1, max: 600 }),
        (all, ahead, windowMs) => {
          const inOrder = all.toSorted((a, b) => a - b)
          const instant = (inOrder.at(-1) ?? 0) + ahead
          const naive = naiveCount(inOrder, instant - windowMs, instant)
          expect(countWithin(history(inOrder), instant, windowMs)).toBe(Math.min(naive, KEPT_OCCURRENCES))
        },
      ),
    )
  })

  it('counts any window exactly up to 51 occurrences', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: KEPT_OCCURRENCES }),
        fc.nat(600),
        fc.nat(600),
        (all, instant, windowMs) => {
          expect(countWithin(history(all), instant, windowMs)).toBe(naiveCount(all, instant - windowMs, instant))
        },
      ),
    )
  })

  it('counts occurrences younger than the window, those of this moment included', () => {
    const counts = [99, 100, 101, 200, 201].map((at) => countWithin(history([at]), 200, 100))
    expect(counts).toEqual([0, 0, 1, 1, 0])
  })

  it('is replaced and never changed', () => {
    const before = Object.freeze(history([1, 2]))
    expect(withOccurrence(before, onTime(0), undefined).latest).toEqual([0, 1, 2])
    expect(before.latest).toEqual([1, 2])
  })

  it('keeps the last occurrence that triggered nothing', () => {
    const old = withOccurrence(undefined, { occurredAt: 1, received: 9, isEvaluated: false }, undefined)
    const missed = { occurredAt: 1, received: 9 }
    expect(old.missed).toEqual(missed)
    expect(withOccurrence(old, onTime(10), undefined).missed).toEqual(missed)
    expect(withOccurrence(undefined, onTime(10), undefined).missed).toBeUndefined()
  })

  it('counts a session until the next one begins, without admin events', () => {
    const first = history([1, 2], 1)
    expect(countOfSession(first, 1)).toBe(2)
    expect(countOfSession(withOccurrence(first, onTime(3), undefined), 1)).toBe(2)
    expect(countOfSession(first, 5)).toBe(0)
    expect(countOfSession(withOccurrence(first, onTime(6), 5), 5)).toBe(1)
    expect(countOfSession(first, undefined)).toBe(0)
  })
})

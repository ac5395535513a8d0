import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { leastPriceOf, presenceOf, priceOf, restOf } from './price-of.ts'

const KIB = 1_024

describe('the price of a request (decisions.md, Busy and broken)', () => {
  it.each([
    ['a read', 1, 0, 1],
    ['a body of 8 KiB', 1, 8 * KIB, 1],
    ['one byte more', 1, 8 * KIB + 1, 2],
    ['10 KiB', 1, 10 * KIB, 2],
    ['the largest body', 1, 102_400, 47],
    ['a batch without items', 0, 10, 1],
    ['a batch of small items', 1_000, 512_000, 1_000],
    ['a batch of items of 8 KiB', 60, 60 * 8 * KIB, 60],
    ['one byte more', 60, 60 * 8 * KIB + 1, 61],
    ['a batch of large items', 5, 512_000, 235],
  ])('of %s', (_what, items, bytes, price) => {
    expect(priceOf(items, bytes)).toBe(price)
  })

  it('is never less than what must be there before the body is parsed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_500 }), fc.integer({ min: 0, max: 512_000 }), (items, bytes) => {
        expect(leastPriceOf(bytes)).toBeLessThanOrEqual(priceOf(items, bytes))
        const { need, owed } = presenceOf(leastPriceOf(bytes), { perSecond: 1, burst: 10 })
        expect(need).toBeLessThan(Math.min(priceOf(items, bytes), 10))
        expect(need + owed).toBe(0)
      }),
    )
  })

  it('is taken in two parts: the first token, and a rest that a full bucket can always give', () => {
    const prices = fc.integer({ min: 2, max: 3_000 })
    fc.assert(
      fc.property(prices, fc.integer({ min: 1, max: 300 }), (price, burst) => {
        const { need, owed } = restOf(price, { perSecond: 1, burst })
        expect(1 + need + owed).toBe(price)
        expect(need).toBe((price > burst ? Math.ceil(burst / 2) : price) - 1)
        expect(owed).toBe(price > burst ? price - Math.ceil(burst / 2) : 0)
      }),
    )
  })
})

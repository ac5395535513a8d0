import * as fc from 'fast-check'
import type { CatalogKey } from '@nextvisit/catalog'
import type { RateLimit } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { createBill } from './bill.ts'
import { leastPriceOf, priceOf } from './price-of.ts'
import type { BatchTokens } from './rate-limiter.ts'

const KIB = 1_024

/** Returns an item of this number of bytes as JSON. */
const itemOf = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) })

/** Returns a bill of this limit, and the tokens that it takes. */
function givenBill(limit: RateLimit) {
  const taken: (BatchTokens | undefined)[] = []
  const key = { entry: { kind: 'admin', sha256: 'hash' }, project: { config: { rateLimits: { admin: limit } } } }
  const take = async (_keyHash: string, _limit: RateLimit, tokens?: BatchTokens) => {
    taken.push(tokens)
    return { isAllowed: true, remaining: 1, moreInSeconds: 1 }
  }
  return { bill: createBill({ take }, key as unknown as CatalogKey), taken }
}

function nested(levels: number): object {
  return levels === 0 ? {} : { a: nested(levels - 1) }
}

describe('the price of a request (decisions.md, Busy and broken)', () => {
  it.each([
    ['a read', 0, [{}], 1],
    ['a body of 8 KiB', 8 * KIB, [{}], 1],
    ['one byte more', 8 * KIB + 1, [{}], 2],
    ['10 KiB', 10 * KIB, [{}], 2],
    ['the largest body', 102_400, [{}], 47],
    ['a batch without items', 10, [], 1],
    ['a batch of small items', 512_000, Array.from({ length: 1_000 }, () => itemOf(500)), 1_000],
    ['a batch of items of 8 KiB', 60 * 8 * KIB, Array.from({ length: 60 }, () => itemOf(8_191)), 60],
    ['one byte more', 60 * 8 * KIB + 1, Array.from({ length: 60 }, () => itemOf(8_191)), 61],
    ['a batch of large items', 512_000, Array.from({ length: 5 }, () => itemOf(102_399)), 235],
    ['a large item among small ones', 104_000, [itemOf(102_400), ...Array.from({ length: 99 }, () => itemOf(11))], 146],
    ['white space between two items', 102_400, [{}, {}], 44],
    ['items that are refused unread', 10 * KIB, [nested(5_000), 'x'.repeat(9_000), null], 3],
  ])('of %s', (_what, bytes, items, price) => {
    expect(priceOf(bytes, items)).toBe(price)
  })

  it('is at least the price that is checked before parsing, and little more than the prices of its items alone', async () => {
    const bodies = fc.array(fc.integer({ min: 11, max: 102_400 }), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(bodies, async (sizes) => {
        const items = sizes.map(itemOf)
        const bytes = Buffer.byteLength(JSON.stringify({ items }))
        const price = priceOf(bytes, items)
        expect(leastPriceOf(bytes)).toBeLessThanOrEqual(price)
        const { bill, taken } = givenBill({ perSecond: 1, burst: 10 })
        await bill.mayParse(bytes)
        const { need, owed } = taken[0] ?? { need: 0, owed: 0 }
        expect(need).toBeLessThan(Math.min(price, 10))
        expect(need + owed).toBe(0)
        const alone = sizes.reduce((sum, size) => sum + priceOf(size, [{}]), 0)
        // Alone, each starts a token of its own.
        expect(price).toBeGreaterThan(alone - sizes.length)
        // The bytes around the items may start one more.
        expect(price).toBeLessThanOrEqual(Math.max(alone + 1, leastPriceOf(bytes)))
      }),
      { numRuns: 50 },
    )
  })

  it('is taken in two parts: the first token, and a rest that a full bucket always has', async () => {
    const prices = fc.integer({ min: 2, max: 3_000 })
    await fc.assert(
      fc.asyncProperty(prices, fc.integer({ min: 1, max: 300 }), async (price, burst) => {
        const { bill, taken } = givenBill({ perSecond: 1, burst })
        await bill.enter()
        await bill.payFor(Array.from({ length: price }), 0)
        expect(taken).toHaveLength(2)
        const [first, { need, owed } = { need: 0, owed: 0 }] = taken
        expect(first).toBeUndefined()
        expect(1 + need + owed).toBe(price)
        expect(need).toBe((price > burst ? Math.ceil(burst / 2) : price) - 1)
        expect(owed).toBe(price > burst ? price - Math.ceil(burst / 2) : 0)
      }),
    )
  })
})

import * as fc from 'fast-check'
import type { CatalogKey } from '@nextvisit/catalog'
import type { RateLimit } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { createBill } from './bill.ts'
import { leastPriceOf, priceOf } from './price-of.ts'
import type { BatchTokens } from './rate-limiter.ts'
import { weighBody } from './weigh-body.ts'

const KIB = 1_024
const MAX_ITEMS = 1_000

/** Returns an item of this number of bytes as JSON. */
const itemOf = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) })
const items = (count: number, bytes: number) => Array.from({ length: count }, () => itemOf(bytes))

/** Returns a body with these members, filled up with white space to this number of bytes. */
const bodyOf = (members: object, bytes = 0): Buffer => Buffer.from(JSON.stringify(members).padEnd(bytes))
const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, 1]))

/** Returns a bill of this limit, and the tokens that it takes. */
function givenBill(limit: RateLimit, maxItems?: number) {
  const taken: (BatchTokens | undefined)[] = []
  const key = { entry: { kind: 'admin', sha256: 'hash' }, project: { config: { rateLimits: { admin: limit } } } }
  const take = async (_keyHash: string, _limit: RateLimit, tokens?: BatchTokens) => {
    taken.push(tokens)
    return { isAllowed: true, remaining: 1, moreInSeconds: 1 }
  }
  return { bill: createBill({ take }, key as unknown as CatalogKey, maxItems), taken }
}

describe('the price of a request (decisions.md, Busy and broken)', () => {
  it.each([
    ['a body of 8 KiB', bodyOf({}, 8 * KIB), 1],
    ['one byte more', bodyOf({}, 8 * KIB + 1), 2],
    ['10 KiB', bodyOf({}, 10 * KIB), 2],
    ['the largest body', bodyOf({}, 102_400), 47],
    ['a list of many values, which are no items', bodyOf({ items: items(100, 11) }), 1],
    ['a body that is no JSON', Buffer.alloc(102_400, '[{"'), 47],
    ['500 names', bodyOf(names(500), 8 * KIB), 1],
    ['1,000 names', bodyOf(names(1_000), 16 * KIB), 7],
    ['the same few names again and again', bodyOf({ list: items(1_000, 10) }, 16 * KIB), 5],
  ])('of %s', (_what, body, price) => {
    expect(priceOf(weighBody(body))).toBe(price)
  })

  it.each([
    ['no items', bodyOf({ items: [] }), 1],
    ['small items', bodyOf({ items: items(1_000, 500) }), 1_000],
    ['items of 8 KiB', bodyOf({ items: items(60, 8_190) }, 60 * 8 * KIB), 60],
    ['items of 8 KiB, and one byte more', bodyOf({ items: items(60, 8_190) }, 60 * 8 * KIB + 1), 61],
    ['large items', bodyOf({ items: items(5, 102_390) }, 512_000), 235],
    ['a large item among small ones', bodyOf({ items: [itemOf(102_400), ...items(99, 11)] }, 104_000), 146],
    ['white space between two items', bodyOf({ items: [{}, {}] }, 102_400), 44],
    ['more items than it may have', bodyOf({ items: items(5_000, 11) }), MAX_ITEMS],
    ['other members than items', bodyOf({ x: items(500, 11) }), 500],
    ['many values, but no list of items', bodyOf({ items: { x: items(500, 200) } }), 47],
  ])('of a batch with %s', (_what, body, price) => {
    expect(priceOf(weighBody(body), MAX_ITEMS)).toBe(price)
  })

  it('of tens of thousands of names is several times that of their bytes', () => {
    const body = bodyOf({ items: [names(30_000)] })
    const ofBytes = priceOf({ bytes: body.length, items: 1, bytesBeyond: 0, names: 0 })
    expect(priceOf(weighBody(body), MAX_ITEMS)).toBeGreaterThan(1.4 * ofBytes)
  })

  it('is at least the price that is checked before, and little more than the prices of its items alone', async () => {
    const bodies = fc.array(fc.integer({ min: 11, max: 102_400 }), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(bodies, async (sizes) => {
        const body = bodyOf({ items: sizes.map(itemOf) })
        const price = priceOf(weighBody(body), MAX_ITEMS)
        expect(leastPriceOf(body.length, MAX_ITEMS)).toBeLessThanOrEqual(price)
        const { bill, taken } = givenBill({ perSecond: 1, burst: 10 }, MAX_ITEMS)
        await bill.mayPayFor(body.length)
        const { need, owed } = taken[0] ?? { need: 0, owed: 0 }
        expect(need).toBeLessThan(Math.min(price, 10))
        expect(need + owed).toBe(0)
        const alone = sizes.reduce((sum, size) => sum + priceOf(weighBody(bodyOf(itemOf(size)))), 0)
        // Alone, each starts a token of its own.
        expect(price).toBeGreaterThan(alone - sizes.length)
        // The bytes around the items may start one more.
        expect(price).toBeLessThanOrEqual(Math.max(alone + 1, leastPriceOf(body.length, MAX_ITEMS)))
      }),
      { numRuns: 50 },
    )
  })

  it('is taken in two parts: the first token, and a rest that a full bucket always has', async () => {
    const prices = fc.integer({ min: 2, max: 900 })
    await fc.assert(
      fc.asyncProperty(prices, fc.integer({ min: 1, max: 300 }), async (price, burst) => {
        const { bill, taken } = givenBill({ perSecond: 1, burst }, MAX_ITEMS)
        await bill.enter()
        await bill.payForBody(bodyOf({ items: items(price, 11) }))
        expect(taken).toHaveLength(2)
        const [first, { need, owed } = { need: 0, owed: 0 }] = taken
        expect(first).toBeUndefined()
        expect(1 + need + owed).toBe(price)
        expect(need).toBe((price > burst ? Math.ceil(burst / 2) : price) - 1)
        expect(owed).toBe(price > burst ? price - Math.ceil(burst / 2) : 0)
      }),
    )
  })

  it('of a body that was read in vain is a token for each 64 KiB, owed, and none once the body is paid for', async () => {
    const { bill, taken } = givenBill({ perSecond: 1, burst: 10 }, MAX_ITEMS)
    await bill.enter()
    await bill.payForReading(65_536)
    await bill.payForReading(512_000)
    expect(taken).toEqual([undefined, { need: 0, owed: 7, isOwedAnyway: true }])
    await bill.payForBody(bodyOf({}, 9_000))
    await bill.payForReading(512_000)
    expect(taken).toHaveLength(3)
  })
})

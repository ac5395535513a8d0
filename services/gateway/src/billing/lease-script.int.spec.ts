import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit } from '@nextvisit/contracts'
import { startRedisProxy } from '@nextvisit/service-kit/test/redis-proxy-fixture.ts'
import * as fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import {
  countAllowed,
  flood,
  givenLimiter,
  givenTwoLimiters,
  newPrefix,
  take,
  type Taken,
  worstExcess,
} from '../../test/given-limiters.ts'
import { LEASE_MS, LEASE_SCRIPT, TokenLease, type TokenLeaseRequest } from './lease-script.ts'

const HARDLY = 1 / 3_600
const LONGER_THAN_A_LEASE_MS = 300

describe('the rate limiter calls Redis (decision 0011)', () => {
  it('once for many requests of one moment', async () => {
    const limiter = await givenLimiter()
    const takes = Array.from({ length: 500 }, () => limiter.take('key', { perSecond: 1_000, burst: 1_000 }))
    expect((await Promise.all(takes)).filter(({ isAllowed }) => isAllowed)).toHaveLength(500)
    expect(limiter.asked()).toBe(1)
  })

  it('a few times a second for a steady load, also over two gateways', async () => {
    const limiters = await givenTwoLimiters()
    const limit = { perSecond: 4_000, burst: 4_000 }
    const takes = await flood(limiters, limit, { ms: 2_000, atOnce: 4 })
    expect(takes.filter(({ isAllowed }) => !isAllowed)).toEqual([])
    for (const { asked } of limiters) expect(asked()).toBeLessThan(takes.length / 20)
  })

  it('once for each request of a key that comes now and then, which leases nothing in advance', async () => {
    const [one, other] = await givenTwoLimiters()
    const limit = { perSecond: HARDLY, burst: 100 }
    for (let i = 0; i < 4; i += 1) {
      await one.take('key', limit)
      await sleep(LONGER_THAN_A_LEASE_MS)
    }
    expect(one.asked()).toBe(4)
    const takes = await Promise.all(Array.from({ length: 100 }, () => take(other, limit)))
    expect(takes.filter(({ isAllowed }) => isAllowed)).toHaveLength(96)
  })

  it('no more once the requests have ended', async () => {
    const limiter = await givenLimiter()
    await countAllowed(limiter, { perSecond: HARDLY, burst: 1_000 }, 100)
    await sleep(2 * LONGER_THAN_A_LEASE_MS)
    const before = limiter.asked()
    await sleep(2 * LONGER_THAN_A_LEASE_MS)
    expect(limiter.asked()).toBe(before)
  })

  it('and leaves nothing there of a bucket that is full again', async () => {
    const { client, redisKey, ...limiter } = await givenLimiter()
    await countAllowed(limiter, { perSecond: 100, burst: 100 }, 50)
    expect(await client.pttl(redisKey)).toBeGreaterThan(0)
    expect(await client.pttl(redisKey)).toBeLessThanOrEqual(1_700)
  })
})

describe('tokens that a gateway leased in advance', () => {
  const limit = { perSecond: 1_000, burst: 100 }

  it('are not replaced while they may still be used: never more than burst at once', async () => {
    const [one, other] = await givenTwoLimiters()
    const takes: Taken[] = []
    for (let i = 0; i < 20; i += 1) takes.push(await take(one, limit))
    // Long enough to replace the leased tokens, too short for their return.
    await sleep(100)
    const rush = [one, other].flatMap((limiter) => Array.from({ length: 110 }, () => take(limiter, limit)))
    takes.push(...(await Promise.all(rush)))
    expect(worstExcess(takes, limit)).toBeLessThanOrEqual(0)
  })

  it('return, and are replaced at perSecond, if their gateway disappears', async () => {
    const keyPrefix = newPrefix()
    const proxy = await startRedisProxy(inject('redisUrl'))
    const lost = await givenLimiter({ keyPrefix, redisUrl: proxy.url })
    const other = await givenLimiter({ keyPrefix })
    await countAllowed(lost, limit, 20)
    proxy.close()
    await sleep(2 * LONGER_THAN_A_LEASE_MS)
    const takes = await Promise.all(Array.from({ length: 150 }, () => take(other, limit)))
    expect(takes.filter(({ isAllowed }) => isAllowed).length).toBeGreaterThanOrEqual(100)
  })

  it('are not counted twice if they return too late', async () => {
    const keyPrefix = newPrefix()
    const proxy = await startRedisProxy(inject('redisUrl'))
    const slow = await givenLimiter({ keyPrefix, redisUrl: proxy.url })
    const other = await givenLimiter({ keyPrefix })
    const large = { perSecond: 100, burst: 400 }
    await countAllowed(slow, large, 60)
    proxy.freeze()
    await sleep(1_500)
    const rush = (limiter: typeof other) => Promise.all(Array.from({ length: 410 }, () => take(limiter, large)))
    const takes = await rush(other)
    expect(takes.filter(({ isAllowed }) => isAllowed).length).toBeGreaterThanOrEqual(400)
    proxy.thaw()
    await sleep(50)
    // This gateway does not know yet that the bucket was empty.
    takes.push(...(await rush(await givenLimiter({ keyPrefix }))))
    expect(worstExcess(takes, large)).toBeLessThanOrEqual(0)
  })

  it('are not used if the answer arrives after their lease has ended', async () => {
    const keyPrefix = newPrefix()
    let lateByMs = 0
    const slow = await givenLimiter({ keyPrefix, lateByMs: () => lateByMs })
    const other = await givenLimiter({ keyPrefix })
    const slower = { perSecond: 100, burst: 100 }
    await countAllowed(slow, slower, 2)
    lateByMs = 3 * LONGER_THAN_A_LEASE_MS
    const asking = Array.from({ length: 15 }, () => take(slow, slower))
    // Another gateway takes their replacements.
    await sleep(lateByMs - 50)
    const rush = [slow, other].flatMap((limiter) => Array.from({ length: 100 }, () => take(limiter, slower)))
    expect(worstExcess(await Promise.all(rush), slower)).toBeLessThanOrEqual(0)
    await Promise.all(asking)
  })

  it('are returned at once with a changed limit', async () => {
    const limiter = await givenLimiter()
    expect(await countAllowed(limiter, { perSecond: HARDLY, burst: 100 }, 20)).toBe(20)
    expect(await countAllowed(limiter, { perSecond: HARDLY, burst: 10 }, 20)).toBe(0)
    expect(await countAllowed(limiter, { perSecond: HARDLY, burst: 25 }, 20)).toBe(5)
  })
})

describe('a changed burst', () => {
  it('applies at once, and keeps the spent tokens', async () => {
    const [one, other] = await givenTwoLimiters()
    const allowed = (limiter: typeof one, burst: number) => countAllowed(limiter, { perSecond: HARDLY, burst }, 100)
    expect(await allowed(one, 10)).toBe(10)
    expect(await allowed(one, 30)).toBe(20)
    expect(await allowed(other, 3)).toBe(0)
    expect(await allowed(other, 8)).toBe(5)
  })
})

/** Gateways that ask for leases of one new bucket. */
async function givenBucket(limit: RateLimit) {
  const { client, redisKey } = await givenLimiter()
  const nothing = { ...limit, need: 0, batches: [], extra: 0, returned: 0, known: 0 }
  const gateway = (name: string) => async (request: Partial<TokenLeaseRequest>) =>
    TokenLease.parse(
      await client.eval(LEASE_SCRIPT, 1, redisKey, JSON.stringify({ gateway: name, ...nothing, ...request })),
    )
  return { one: gateway('one'), other: gateway('other'), client, redisKey }
}

describe('the script', () => {
  it('leases at most half of the tokens above the middle, and none from a small bucket', async () => {
    const large = await givenBucket({ perSecond: HARDLY, burst: 100 })
    expect(await large.one({ need: 10, extra: 100 })).toMatchObject({ granted: 10, advance: 20 })
    expect(await large.other({ need: 21, extra: 100 })).toMatchObject({ granted: 21, advance: 0 })
    const small = await givenBucket({ perSecond: HARDLY, burst: 4 })
    expect(await small.one({ need: 1, extra: 100 })).toMatchObject({ granted: 1, advance: 0 })
  })

  it('takes back unused tokens, and states when other gateways may return theirs', async () => {
    const { one, other } = await givenBucket({ perSecond: HARDLY, burst: 100 })
    await one({ extra: 20 })
    const starved = await other({ need: 100 })
    expect(starved.granted).toBe(80)
    expect(starved.retryInMs).toBeGreaterThan(0)
    await one({ returned: 10 })
    expect(await other({ need: 100 })).toMatchObject({ granted: 10, retryInMs: 0 })
  })

  it('replaces leased tokens from the end of their lease on, not before', async () => {
    const { one, other, client } = await givenBucket({ perSecond: 50, burst: 100 })
    const clockMs = async () => {
      const [seconds = 0, micros = 0] = (await client.time()).map(Number)
      return seconds * 1_000 + micros / 1_000
    }
    const leasedAt = await clockMs()
    await one({ extra: 20 })
    await sleep(LONGER_THAN_A_LEASE_MS)
    const { known } = await other({})
    const refilledMs = (await clockMs()) - leasedAt - LEASE_MS
    expect(known).toBeGreaterThanOrEqual(20 - (refilledMs * 50) / 1_000)
  })

  it('grants a batch all of its tokens or none, after the waiting requests', async () => {
    const { one, other } = await givenBucket({ perSecond: HARDLY, burst: 20 })
    const batches = [12, 9, 3].map((need) => ({ need, owed: 0 }))
    expect(await one({ need: 4, batches })).toMatchObject({ granted: 4, passed: '101' })
    expect(await other({ need: 4 })).toMatchObject({ granted: 1 })
  })

  it('lets a bucket owe the additional tokens of a batch, until its limit changes', async () => {
    const limit = { perSecond: HARDLY, burst: 10 }
    const { one, other } = await givenBucket(limit)
    expect(await one({ batches: [{ need: 10, owed: 5 }] })).toMatchObject({ passed: '1' })
    const { known } = await other({})
    expect(known).toBeGreaterThan(14.9)
    // Empty, but without debt: two more tokens fit into the larger bucket.
    expect(await other({ burst: 12, need: 5 })).toMatchObject({ granted: 0 })
    expect(await other({ burst: 9, need: 5 })).toMatchObject({ granted: 0, known: 9 })
  })

  it('lets a bucket in debt owe more only for causes that have happened', async () => {
    const { one, other } = await givenBucket({ perSecond: HARDLY, burst: 10 })
    const owing = { need: 0, owed: 8, isOwedAnyway: true }
    expect(await one({ batches: [owing, owing] })).toMatchObject({ passed: '11' })
    expect(await one({ batches: [owing, { need: 0, owed: 8 }] })).toMatchObject({ passed: '10' })
    expect((await other({})).known).toBeGreaterThan(23.9)
  })

  it('refills the bucket and ends leases even after the clock of Redis was set back', async () => {
    const { one, other, client, redisKey } = await givenBucket({ perSecond: 100, burst: 100 })
    await one({ extra: 20 })
    await other({ need: 80 })
    // Written by a Redis whose clock is an hour ahead.
    const anHourAhead = `
      local bucket = cmsgpack.unpack(redis.call('GET', KEYS[1]))
      bucket.at = bucket.at + 3600000
      for _, hold in pairs(bucket.holds) do hold.ends = hold.ends + 3600000 end
      redis.call('SET', KEYS[1], cmsgpack.pack(bucket))`
    await client.eval(anHourAhead, 1, redisKey)
    await expect.poll(async () => (await other({})).known, { timeout: 10_000 }).toBe(0)
    expect(await other({ need: 100 })).toMatchObject({ granted: 100 })
  })

  it('takes no tokens back after their lease has ended', async () => {
    const { one, other } = await givenBucket({ perSecond: HARDLY, burst: 100 })
    await one({ extra: 20 })
    await sleep(LONGER_THAN_A_LEASE_MS)
    expect((await other({ need: 100 })).granted).toBe(80)
    await one({ returned: 20 })
    expect((await other({ need: 100 })).granted).toBe(0)
  })
})

describe('the bound of burst + perSecond × time', () => {
  it('holds over three gateways under any load, for any limit', async () => {
    const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 2_000 }), burst: fc.integer({ min: 1, max: 300 }) })
    const step = fc.record({
      gateway: fc.integer({ min: 0, max: 2 }),
      takes: fc.integer({ min: 0, max: 60 }),
      pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 })),
    })
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { minLength: 5, maxLength: 30 }), async (limit, steps) => {
        const keyPrefix = newPrefix()
        const limiters = await Promise.all([0, 1, 2].map(() => givenLimiter({ keyPrefix })))
        const takes: Promise<Taken>[] = []
        for (const { gateway, takes: times, pauseMs } of steps) {
          const limiter = limiters[gateway]
          if (limiter) takes.push(...Array.from({ length: times }, () => take(limiter, limit)))
          await sleep(pauseMs)
        }
        expect(worstExcess(await Promise.all(takes), limit)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 15, endOnFailure: true },
    )
  })
})

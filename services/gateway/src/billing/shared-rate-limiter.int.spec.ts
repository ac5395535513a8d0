import { randomUUID } from 'node:crypto'
import type { RateLimit } from '@nextvisit/contracts'
import { startRedisProxy } from '@nextvisit/service-kit/test/redis-proxy-fixture.ts'
import { describe, expect, inject, it } from 'vitest'
import {
  countAllowed,
  flood,
  givenLimiter,
  givenTwoLimiters,
  newPrefix,
  take as measuredTake,
  type Taken,
  worstExcess,
} from '../../test/given-limiters.ts'
import { drain, type RateLimiter, type TokenBucket, tokensIn } from './rate-limiter.ts'

const HARDLY = 1 / 3_600

/** Returns how many requests a single shared bucket would have let pass. */
function ideallyPassed(takes: readonly Taken[], limit: RateLimit): number {
  let passed = 0
  let bucket: TokenBucket = { level: 0, atMs: 0 }
  for (const { beganMs } of takes) {
    bucket = drain(bucket, limit, beganMs)
    if (tokensIn(bucket, limit) < 1) continue
    bucket = { ...bucket, level: bucket.level + 1 }
    passed += 1
  }
  return passed
}

describe('rate limits shared through Redis (decisions.md, Busy and broken)', () => {
  it.each([1, 2, 3, 5, 10, 20, 50])(
    'pass exactly burst %i of many requests at once over two gateways',
    async (burst) => {
      const limiters = await givenTwoLimiters()
      const limit = { perSecond: HARDLY, burst }
      const takes = Array.from({ length: burst + 20 }, () =>
        limiters.map(async ({ take }) => take('key', limit)),
      ).flat()
      const verdicts = await Promise.all(takes)
      expect(verdicts.filter(({ isAllowed }) => isAllowed)).toHaveLength(burst)
    },
  )

  it.each([1, 2, 3, 5, 20, 50])('pass exactly burst %i of requests in turn over two gateways', async (burst) => {
    const limiters = await givenTwoLimiters()
    const allowed: boolean[] = []
    for (let i = 0; i < burst + 5; i += 1)
      for (const { take } of limiters) allowed.push((await take('key', { perSecond: HARDLY, burst })).isAllowed)
    expect(allowed.filter(Boolean)).toHaveLength(burst)
  })

  it('pass exactly burst if one gateway gives back the tokens that it leased', async () => {
    const limit = { perSecond: HARDLY, burst: 100 }
    const [one, other] = await givenTwoLimiters({ clock: { nowMs: 0 } })
    expect((await countAllowed(one, limit, 20)) + (await countAllowed(other, limit, 100))).toBe(100)
  })

  it('lose only the leased tokens of a gateway that disappears', async () => {
    const [lost, other] = await givenTwoLimiters()
    const limit = { perSecond: HARDLY, burst: 100 }
    const before = await countAllowed(lost, limit, 20)
    lost.client.disconnect()
    const passed = before + (await countAllowed(other, limit, 100))
    expect(passed).toBeLessThanOrEqual(100)
    // It leased at most half of what was above the middle.
    expect(passed).toBeGreaterThanOrEqual(100 - (100 - 50) / 2)
  })

  it('state the remaining tokens, and when there are more', async () => {
    const [one, other] = await givenTwoLimiters()
    const limit = { perSecond: HARDLY, burst: 2 }
    const stated = async ({ take }: RateLimiter) => {
      const { isAllowed, remaining, moreInSeconds } = await take('key', limit)
      return { isAllowed, remaining, moreInHours: Math.ceil(moreInSeconds / 3_600) }
    }
    expect(await stated(one)).toEqual({ isAllowed: true, remaining: 1, moreInHours: 1 })
    expect(await stated(other)).toEqual({ isAllowed: true, remaining: 0, moreInHours: 1 })
    for (const limiter of [one, other, one])
      expect(await stated(limiter)).toEqual({ isAllowed: false, remaining: 0, moreInHours: 1 })
  })

  it('have a token again after the stated time, for either gateway', async () => {
    const clock = { nowMs: 0 }
    const limit = { perSecond: 2, burst: 1 }
    for (const { take } of await givenTwoLimiters({ clock })) {
      let verdict = await take('key', limit)
      while (verdict.isAllowed) verdict = await take('key', limit)
      clock.nowMs += verdict.moreInSeconds * 1_000
      expect((await take('key', limit)).isAllowed).toBe(true)
    }
  })

  it.each([
    { perSecond: 20, burst: 1 },
    { perSecond: 50, burst: 5 },
    { perSecond: 200, burst: 40 },
    { perSecond: 2_000, burst: 200 },
  ])('pass in no window more than burst + perSecond × time, and not many fewer: %o', async (limit) => {
    const clock = { nowMs: 0 }
    const limiters = await givenTwoLimiters({ clock })
    const takes: Taken[] = []
    for (; clock.nowMs < 1_000; clock.nowMs += 5) {
      const atOnce = Array.from({ length: 8 }, () => limiters).flat()
      takes.push(...(await Promise.all(atOnce.map((limiter) => measuredTake(limiter, limit, clock)))))
    }
    expect(worstExcess(takes, limit)).toBeLessThanOrEqual(0)
    expect(takes.filter(({ isAllowed }) => isAllowed).length).toBeGreaterThan(0.8 * ideallyPassed(takes, limit))
  })

  it('hold the bound for an intermittent load', async () => {
    const limiters = await givenTwoLimiters()
    const limit = { perSecond: 500, burst: 100 }
    const takes: Taken[] = []
    for (const atOnce of [1, 0, 20, 0, 0, 20, 1, 20]) takes.push(...(await flood(limiters, limit, { ms: 150, atOnce })))
    expect(worstExcess(takes, limit)).toBeLessThanOrEqual(0)
  })

  it('never refuse a client below the limit', async () => {
    const clock = { nowMs: 0 }
    const { take } = await givenLimiter({ clock })
    const refused: number[] = []
    for (; clock.nowMs < 1_000; clock.nowMs += 10)
      if (!(await take('key', { perSecond: 100, burst: 5 })).isAllowed) refused.push(clock.nowMs)
    expect(refused).toEqual([])
  })

  it('call Redis rarely while a key is busy, and never while its bucket is empty', async () => {
    const { take, asked } = await givenLimiter({ clock: { nowMs: 0 } })
    const limit = { perSecond: 10_000, burst: 10_000 }
    for (let i = 0; i < 5_000; i += 1) expect((await take('busy', limit)).isAllowed).toBe(true)
    expect(asked()).toBeLessThan(100)
    await take('empty', { perSecond: HARDLY, burst: 1 })
    await take('empty', { perSecond: HARDLY, burst: 1 })
    const before = asked()
    for (let i = 0; i < 100; i += 1) await take('empty', { perSecond: HARDLY, burst: 1 })
    expect(asked()).toBe(before)
  })

  it('count keys separately, and apply a changed limit to the next request', async () => {
    const { take } = await givenLimiter()
    const isAllowed = async (key: string, burst: number) => (await take(key, { perSecond: HARDLY, burst })).isAllowed
    expect(await isAllowed('one', 1)).toBe(true)
    expect(await isAllowed('one', 1)).toBe(false)
    expect(await isAllowed('two', 1)).toBe(true)
    expect(await isAllowed('one', 2)).toBe(true)
    expect(await isAllowed('one', 2)).toBe(false)
  })

  it('keep their level when Redis is emptied', async () => {
    const keyPrefix = newPrefix()
    const { take, client } = await givenLimiter({ keyPrefix })
    const isAllowed = async () => (await take('key', { perSecond: HARDLY, burst: 3 })).isAllowed
    expect([await isAllowed(), await isAllowed()]).toEqual([true, true])
    await client.del(`${keyPrefix}rate:key`)
    expect([await isAllowed(), await isAllowed()]).toEqual([true, false])
  })
})

describe('a rate limiter without Redis', () => {
  const limit = { perSecond: HARDLY, burst: 5 }
  /** Longer than an answer of Redis takes on a busy machine. */
  const patienceMs = 2_000
  /** Time in ms between two attempts to reach Redis again. */
  const retryAfterMs = 250
  const BACK = 'Rate limits are shared by all gateways again'

  async function isShared(take: RateLimiter['take'], lines: readonly string[]): Promise<boolean> {
    await take(randomUUID(), limit)
    return lines.at(-1) === BACK
  }

  it.each(['frozen', 'closed'])(
    'continues at once from the last known level, and recovers by itself: %s',
    async (how) => {
      const proxy = await startRedisProxy(inject('redisUrl'))
      const { take, lines, asked } = await givenLimiter({ redisUrl: proxy.url, patienceMs })
      const isAllowed = async () => (await take('key', limit)).isAllowed
      expect([await isAllowed(), await isAllowed()]).toEqual([true, true])

      if (how === 'frozen') proxy.freeze()
      else proxy.close()
      const before = asked()
      const allowed = [await isAllowed()]
      const beganMs = performance.now()
      for (let i = 0; i < 199; i += 1) allowed.push(await isAllowed())
      // Only the first one waited for Redis. A few of the others asked it again, without waiting: else the spec would time out.
      expect(asked() - before).toBeLessThanOrEqual(2 + (performance.now() - beganMs) / retryAfterMs)
      expect(allowed.filter(Boolean)).toHaveLength(3)

      if (how === 'frozen') proxy.thaw()
      else await proxy.reopen()
      await expect.poll(() => isShared(take, lines), { timeout: 10_000 }).toBe(true)
      expect(lines.slice(0, 2)).toEqual([
        'Rate limits are kept by each gateway for itself: Redis is unavailable or slow',
        BACK,
      ])
    },
  )

  it('reports the requests that passed meanwhile once Redis is back', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'))
    const { take, lines } = await givenLimiter({ redisUrl: proxy.url, patienceMs })
    const isAllowed = async () => (await take('key', limit)).isAllowed
    expect([await isAllowed(), await isAllowed()]).toEqual([true, true])
    proxy.freeze()
    // The first call is answered late; the second needs none.
    expect([await isAllowed(), await isAllowed()]).toEqual([true, true])
    proxy.thaw()
    await expect.poll(() => isShared(take, lines), { timeout: 10_000 }).toBe(true)
    expect([await isAllowed(), await isAllowed()]).toEqual([true, false])
  })

  it('starts', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'))
    proxy.close()
    const { take } = await givenLimiter({ redisUrl: proxy.url, patienceMs })
    const allowed = []
    for (let i = 0; i < 7; i += 1) allowed.push((await take('key', limit)).isAllowed)
    expect(allowed).toEqual([true, true, true, true, true, false, false])
  })
})

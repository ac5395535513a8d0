import type { RateLimit } from '@nextvisit/contracts'
import { createLogger } from '@nextvisit/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { neededFor } from './price-of.ts'
import { type BatchTokens, rateLimitHeaders } from './rate-limiter.ts'
import { createSharedRateLimiter } from './shared-rate-limiter.ts'

const noRedis = () => Promise.reject(new Error('Redis was never there'))

/** Returns the tokens of a price after its first. */
function restOf(price: number, limit: RateLimit): BatchTokens {
  const need = neededFor(price, limit)
  return { need, owed: price - 1 - need }
}

/** A gateway without Redis: every call fails. */
function startBucket(limit: { perSecond: number; burst: number }) {
  let nowMs = 0
  const limiter = createSharedRateLimiter({
    redis: { eval: noRedis },
    keyPrefix: '',
    instanceId: 'alone',
    nowMs: () => nowMs,
    logger: createLogger('rate-limit-test', 'silent'),
  })
  return {
    wait: (ms: number) => (nowMs += ms),
    take: (changed = limit, batch?: BatchTokens) => limiter.take('key', changed, batch),
  }
}

describe('a token bucket without Redis (decisions.md, Busy and broken: rate limits)', () => {
  it('passes a burst, then perSecond', async () => {
    const { wait, take } = startBucket({ perSecond: 10, burst: 20 })
    const takeMany = async (times: number) => {
      const verdicts = await Promise.all(Array.from({ length: times }, () => take()))
      return verdicts.filter(({ isAllowed }) => isAllowed).length
    }
    expect(await takeMany(30)).toBe(20)
    wait(500)
    expect(await takeMany(30)).toBe(5)
    wait(60_000)
    expect(await takeMany(30)).toBe(20)
  })

  it('applies a changed limit at once, and keeps the taken tokens', async () => {
    const { wait, take } = startBucket({ perSecond: 10, burst: 3 })
    for (let i = 0; i < 3; i += 1) await take()
    const larger = { perSecond: 1, burst: 5 }
    const verdicts = [await take(larger), await take(larger), await take(larger)]
    expect(verdicts.map(({ isAllowed }) => isAllowed)).toEqual([true, true, false])
    const smaller = { perSecond: 1, burst: 1 }
    expect(await take(smaller)).toEqual({ isAllowed: false, remaining: 0, moreInSeconds: 1 })
    wait(1_000)
    expect((await take(smaller)).isAllowed).toBe(true)
  })

  it('behaves like an exact model in thousandths, and states its tokens', async () => {
    const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 500 }), burst: fc.integer({ min: 1, max: 50 }) })
    const waits = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(limits, waits, async (limit, waitsMs) => {
        const { wait, take } = startBucket(limit)
        const capacity = limit.burst * 1_000
        let thousandths = capacity
        for (const ms of waitsMs) {
          wait(ms)
          // perSecond tokens a second equal perSecond thousandths a millisecond.
          thousandths = Math.min(capacity, thousandths + ms * limit.perSecond)
          const isAllowed = thousandths >= 1_000
          if (isAllowed) thousandths -= 1_000
          const remaining = Math.floor(thousandths / 1_000)
          const moreInSeconds = Math.ceil(((remaining + 1) * 1_000 - thousandths) / limit.perSecond / 1_000)
          expect(await take()).toEqual({ isAllowed, remaining, moreInSeconds })
        }
      }),
    )
  })

  it('has a token again at the stated time, and not a second earlier', async () => {
    const limits = fc.record({ perMinute: fc.integer({ min: 1, max: 300 }), burst: fc.integer({ min: 1, max: 5 }) })
    await fc.assert(
      fc.asyncProperty(limits, fc.integer({ min: 0, max: 5_000 }), async ({ perMinute, burst }, waitMs) => {
        const { wait, take } = startBucket({ perSecond: perMinute / 60, burst })
        const emptyIt = async () => {
          let verdict = await take()
          while (verdict.isAllowed) verdict = await take()
          return verdict
        }
        await emptyIt()
        wait(waitMs)
        const { moreInSeconds } = await emptyIt()
        wait((moreInSeconds - 1) * 1_000)
        const isEarly = moreInSeconds > 1 && (await take()).isAllowed
        expect(isEarly).toBe(false)
        wait(1_000)
        expect((await take()).isAllowed).toBe(true)
      }),
    )
  })
})

describe('a request that costs several tokens', () => {
  it('passes together with a caller that has the same key, even if it costs more than burst', async () => {
    const limit = { perSecond: 100, burst: 200 }
    const { wait, take } = startBucket(limit)
    const verdicts: boolean[] = []
    for (let second = 0; second < 12; second += 1) {
      for (let request = 0; request < 30; request += 1) {
        wait(1_000 / 30)
        await take()
      }
      await take()
      verdicts.push((await take(limit, restOf(1_000, limit))).isAllowed)
    }
    expect(verdicts).toContain(true)
  })

  it('adds to the debt of a bucket if its cause has happened', async () => {
    const limit = { perSecond: 1, burst: 4 }
    const { take } = startBucket(limit)
    for (const owed of [5, 6])
      expect(await take(limit, { need: 0, owed, isOwedAnyway: true })).toMatchObject({ isAllowed: true })
    expect(await take(limit, { need: 0, owed: 1 })).toMatchObject({ isAllowed: false })
    expect(await take()).toMatchObject({ isAllowed: false, moreInSeconds: 5 + 6 - 4 + 1 })
  })

  it('passes at the stated time, with the first token, which is taken again', async () => {
    const limits = fc.record({ perMinute: fc.integer({ min: 1, max: 300 }), burst: fc.integer({ min: 1, max: 9 }) })
    const prices = fc.integer({ min: 2, max: 30 })
    const waits = fc.integer({ min: 0, max: 5_000 })
    await fc.assert(
      fc.asyncProperty(limits, prices, waits, async ({ perMinute, burst }, price, waitMs) => {
        const limit = { perSecond: perMinute / 60, burst }
        const { wait, take } = startBucket(limit)
        const send = async () => {
          const first = await take()
          return first.isAllowed ? take(limit, restOf(price, limit)) : first
        }
        await send()
        wait(waitMs)
        const tries = [await send(), await send()]
        for (let again = 0; again < 2 && !tries.at(-1)?.isAllowed; again += 1) {
          wait((tries.at(-1)?.moreInSeconds ?? 0) * 1_000)
          tries.push(await send())
        }
        // The first of them may wait for its first token only.
        expect(tries.at(-1)?.isAllowed).toBe(true)
      }),
    )
  })
})

describe('the headers (draft-ietf-httpapi-ratelimit-headers)', () => {
  it('state the policy and the remaining tokens', async () => {
    const limit = { perSecond: 100, burst: 200 }
    expect(rateLimitHeaders('admin', limit, await startBucket(limit).take())).toEqual({
      'RateLimit-Policy': '"admin";q=200;w=2',
      RateLimit: '"admin";r=199;t=1',
    })
  })

  it('state when a request passes again if no token is left', async () => {
    const limit = { perSecond: 0.1, burst: 1 }
    const { take } = startBucket(limit)
    expect(rateLimitHeaders('sdk', limit, await take())).toEqual({
      'RateLimit-Policy': '"sdk";q=1;w=10',
      RateLimit: '"sdk";r=0;t=10',
    })
    expect(rateLimitHeaders('sdk', limit, await take())).toEqual({
      'RateLimit-Policy': '"sdk";q=1;w=10',
      RateLimit: '"sdk";r=0;t=10',
      'Retry-After': '10',
    })
  })

  it('are integers that clients can read, for any limit', async () => {
    const limit = { perSecond: 1e-300, burst: 1 }
    expect(rateLimitHeaders('sdk', limit, await startBucket(limit).take())).toMatchObject({
      'RateLimit-Policy': '"sdk";q=1;w=2147483647',
      RateLimit: '"sdk";r=0;t=2147483647',
    })
  })
})

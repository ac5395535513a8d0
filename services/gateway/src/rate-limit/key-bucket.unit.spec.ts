import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyBucket } from './key-bucket.ts'
import { type RateLimitVerdict, rateLimitHeaders } from './rate-limiter.ts'
import type { SharedBuckets } from './shared-buckets.ts'

/** Redis never was there: a gateway for itself. */
const NOTHING_SHARED: SharedBuckets = {
  lease: async () => undefined,
  isAway: () => true,
  isRetryDue: () => false,
}

function startBucket(limit: { perSecond: number; burst: number }) {
  let nowMs = 0
  const bucket = createKeyBucket('key', NOTHING_SHARED, () => nowMs)
  return {
    wait: (ms: number) => (nowMs += ms),
    take: (changed = limit) => bucket.take(changed) as RateLimitVerdict,
  }
}

describe('a token bucket without Redis (decisions.md, Busy and broken: rate limits)', () => {
  it('lets a burst pass, then perSecond', () => {
    const { wait, take } = startBucket({ perSecond: 10, burst: 20 })
    const takeMany = (times: number) =>
      Array.from({ length: times }, () => take()).filter(({ isAllowed }) => isAllowed).length
    expect(takeMany(30)).toBe(20)
    wait(500)
    expect(takeMany(30)).toBe(5)
    wait(60_000)
    expect(takeMany(30)).toBe(20)
  })

  it('follows a changed limit at once, and knows what was taken', () => {
    const { wait, take } = startBucket({ perSecond: 10, burst: 3 })
    for (let i = 0; i < 3; i += 1) take()
    const larger = { perSecond: 1, burst: 5 }
    expect([take(larger), take(larger), take(larger)].map(({ isAllowed }) => isAllowed)).toEqual([true, true, false])
    const smaller = { perSecond: 1, burst: 1 }
    expect(take(smaller)).toEqual({ isAllowed: false, remaining: 0, moreInSeconds: 1 })
    wait(1_000)
    expect(take(smaller).isAllowed).toBe(true)
  })

  it('does as a bucket of thousandths would, and tells what is in it', () => {
    const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 500 }), burst: fc.integer({ min: 1, max: 50 }) })
    const waits = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(limits, waits, (limit, waitsMs) => {
        const { wait, take } = startBucket(limit)
        const capacity = limit.burst * 1_000
        let thousandths = capacity
        for (const ms of waitsMs) {
          wait(ms)
          // perSecond tokens a second are as many thousandths a millisecond.
          thousandths = Math.min(capacity, thousandths + ms * limit.perSecond)
          const isAllowed = thousandths >= 1_000
          if (isAllowed) thousandths -= 1_000
          const remaining = Math.floor(thousandths / 1_000)
          const moreInSeconds = Math.ceil(((remaining + 1) * 1_000 - thousandths) / limit.perSecond / 1_000)
          expect(take()).toEqual({ isAllowed, remaining, moreInSeconds })
        }
      }),
    )
  })

  it('has a token again when it said, and not a second earlier', () => {
    const limits = fc.record({ perMinute: fc.integer({ min: 1, max: 300 }), burst: fc.integer({ min: 1, max: 5 }) })
    fc.assert(
      fc.property(limits, fc.integer({ min: 0, max: 5_000 }), ({ perMinute, burst }, waitMs) => {
        const { wait, take } = startBucket({ perSecond: perMinute / 60, burst })
        const emptyIt = () => {
          let verdict = take()
          while (verdict.isAllowed) verdict = take()
          return verdict
        }
        emptyIt()
        wait(waitMs)
        const { moreInSeconds } = emptyIt()
        wait((moreInSeconds - 1) * 1_000)
        const isEarly = moreInSeconds > 1 && take().isAllowed
        expect(isEarly).toBe(false)
        wait(1_000)
        expect(take().isAllowed).toBe(true)
      }),
    )
  })
})

describe('headers (draft-ietf-httpapi-ratelimit-headers)', () => {
  it('tell the policy and what is left', () => {
    const limit = { perSecond: 100, burst: 200 }
    expect(rateLimitHeaders('admin', limit, startBucket(limit).take())).toEqual({
      'RateLimit-Policy': '"admin";q=200;w=2',
      RateLimit: '"admin";r=199;t=1',
    })
  })

  it('say when to come again where nothing is left', () => {
    const limit = { perSecond: 0.1, burst: 1 }
    const { take } = startBucket(limit)
    expect(rateLimitHeaders('sdk', limit, take())).toEqual({
      'RateLimit-Policy': '"sdk";q=1;w=10',
      RateLimit: '"sdk";r=0;t=10',
    })
    expect(rateLimitHeaders('sdk', limit, take())).toEqual({
      'RateLimit-Policy': '"sdk";q=1;w=10',
      RateLimit: '"sdk";r=0;t=10',
      'Retry-After': '10',
    })
  })

  it('are integers that clients can read, whatever the limit', () => {
    const limit = { perSecond: 1e-300, burst: 1 }
    expect(rateLimitHeaders('sdk', limit, startBucket(limit).take())).toMatchObject({
      'RateLimit-Policy': '"sdk";q=1;w=2147483647',
      RateLimit: '"sdk";r=0;t=2147483647',
    })
  })
})

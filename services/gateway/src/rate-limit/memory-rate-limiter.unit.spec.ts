import { describe, expect, it } from 'vitest'
import { createMemoryRateLimiter } from './memory-rate-limiter.ts'
import { rateLimitHeaders } from './rate-limiter.ts'

const LIMIT = { perSecond: 10, burst: 20 }

describe('the token bucket (decisions.md, Busy and broken: rate limits)', () => {
  it('lets a burst pass, then perSecond', async () => {
    let nowMs = 0
    const limiter = createMemoryRateLimiter(() => nowMs)
    const take = async (times: number) => {
      let allowed = 0
      for (let i = 0; i < times; i += 1) if ((await limiter.take('key', LIMIT)).isAllowed) allowed += 1
      return allowed
    }
    expect(await take(30)).toBe(20)
    nowMs = 500
    expect(await take(30)).toBe(5)
    nowMs = 60_000
    expect(await take(30)).toBe(20)
  })

  it('counts keys apart', async () => {
    const limiter = createMemoryRateLimiter(() => 0)
    for (let i = 0; i < 20; i += 1) await limiter.take('one', LIMIT)
    expect((await limiter.take('one', LIMIT)).isAllowed).toBe(false)
    expect((await limiter.take('two', LIMIT)).isAllowed).toBe(true)
  })

  it('says what is left, and when to come again', async () => {
    const limiter = createMemoryRateLimiter(() => 0)
    const first = await limiter.take('key', { perSecond: 0.1, burst: 1 })
    expect(rateLimitHeaders('admin', { perSecond: 0.1, burst: 1 }, first)).toEqual({
      'RateLimit-Policy': '"admin";q=1;w=10',
      RateLimit: '"admin";r=0;t=10',
    })
    const second = await limiter.take('key', { perSecond: 0.1, burst: 1 })
    expect(rateLimitHeaders('admin', { perSecond: 0.1, burst: 1 }, second)).toMatchObject({ 'Retry-After': '10' })
  })
})

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, createRedis } from '@nextvisit/service-kit'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSharedBuckets, type LeaseRequest } from './shared-buckets.ts'

const logger = createLogger('rate-limit-test', 'silent')
const keyPrefix = `test:${randomUUID()}:`
const redis = createRedis({ url: inject('redisUrl'), name: 'rate-limit-test', logger })
beforeAll(redis.start)
afterAll(redis.stop)

const HOUR_LONG = 1 / 3_600

/** Gateways that share one new bucket. */
function startGateways(limit: LeaseRequest['limit']) {
  const keyHash = randomUUID()
  const nothing = { keyHash, limit, need: 0, extra: 0, kept: 0, returned: 0, level: 0, owed: 0 }
  const startGateway = () => {
    const shared = createSharedBuckets({
      redis: redis.client,
      keyPrefix,
      instanceId: randomUUID(),
      nowMs: () => performance.now(),
      logger,
    })
    return async (request: Partial<LeaseRequest>) => {
      const lease = await shared.lease({ ...nothing, ...request }, () => undefined)
      if (!lease) throw new Error('Redis did not answer')
      return lease
    }
  }
  return { one: startGateway(), other: startGateway(), redisKey: `${keyPrefix}rate:${keyHash}` }
}

describe('a bucket in Redis', () => {
  it('gives what is needed while it lasts, to all gateways together', async () => {
    const { one, other } = startGateways({ perSecond: HOUR_LONG, burst: 5 })
    expect(await one({ need: 3 })).toMatchObject({ granted: 3, advance: 0, othersEndInMs: 0 })
    expect(await other({ need: 3 })).toMatchObject({ granted: 2 })
    expect((await one({ need: 1 })).level).toBeCloseTo(5, 2)
  })

  it('refills at perSecond, by its own clock', async () => {
    const { one, redisKey } = startGateways({ perSecond: 2, burst: 100 })
    await one({ need: 100 })
    const at = Number(await redis.client.hget(redisKey, 'at'))
    await redis.client.hset(redisKey, 'at', at - 10_000)
    expect((await one({ need: 100 })).granted).toBe(20)
  })

  it('gives in advance half of what is above the middle, and nothing from a small bucket', async () => {
    const large = startGateways({ perSecond: HOUR_LONG, burst: 100 })
    expect(await large.one({ need: 10, extra: 100 })).toMatchObject({ granted: 10, advance: 20 })
    expect(await large.other({ need: 21, extra: 100 })).toMatchObject({ granted: 21, advance: 0 })
    const small = startGateways({ perSecond: HOUR_LONG, burst: 5 })
    expect(await small.one({ need: 1, extra: 100 })).toMatchObject({ granted: 1, advance: 0 })
  })

  it('takes back what is not used, and tells when others will have', async () => {
    const { one, other } = startGateways({ perSecond: HOUR_LONG, burst: 100 })
    await one({ extra: 20 })
    const starved = await other({ need: 100 })
    expect(starved).toMatchObject({ granted: 80 })
    expect(starved.othersEndInMs).toBeGreaterThan(0)
    await one({ kept: 5, returned: 10 })
    expect(await other({ need: 100 })).toMatchObject({ granted: 10 })
  })

  it('does not refill the place of tokens that may still be used: never more than burst at once', async () => {
    const { one, other } = startGateways({ perSecond: 1_000, burst: 100 })
    expect((await one({ extra: 20 })).advance).toBe(20)
    await sleep(100)
    expect((await other({ need: 100 })).granted).toBe(80)
  })

  it('counts them as used at the end where nothing more is heard of a gateway', async () => {
    const { one, other } = startGateways({ perSecond: 1_000, burst: 100 })
    await one({ extra: 20 })
    await sleep(300)
    expect(await other({ need: 100 })).toMatchObject({ granted: 100, othersEndInMs: 0 })
  })

  it('drains them from their end on, not from when they were given', async () => {
    const { one, other, redisKey } = startGateways({ perSecond: 0.1, burst: 100 })
    await one({ extra: 20 })
    const at = Math.round(Number(await redis.client.hget(redisKey, 'at')))
    const [holder] = (await redis.client.hkeys(redisKey)).filter((field) => field.startsWith('held:'))
    await redis.client.hset(redisKey, 'at', at - 1_000_000, holder ?? '', `20:${at - 100_000}`)
    expect((await other({})).level).toBeCloseTo(10, 0)
  })

  it('does not take back too late: others have used their place', async () => {
    const { one, other } = startGateways({ perSecond: 100, burst: 100 })
    await one({ extra: 20 })
    await sleep(500)
    await other({ need: 100 })
    await one({ returned: 20 })
    expect((await other({ need: 100 })).granted).toBeLessThan(15)
  })

  it('follows a changed burst at once', async () => {
    const { one } = startGateways({ perSecond: HOUR_LONG, burst: 10 })
    await one({ need: 10 })
    expect((await one({ need: 100, limit: { perSecond: HOUR_LONG, burst: 30 } })).granted).toBe(20)
    expect((await one({ need: 100, limit: { perSecond: HOUR_LONG, burst: 3 } })).granted).toBe(0)
    expect((await one({ need: 100, limit: { perSecond: HOUR_LONG, burst: 8 } })).granted).toBe(5)
  })

  it('goes on from what a gateway knows where Redis was emptied', async () => {
    const { one, redisKey } = startGateways({ perSecond: HOUR_LONG, burst: 10 })
    const { level } = await one({ need: 7 })
    await redis.client.del(redisKey)
    expect((await one({ need: 10, level })).granted).toBe(3)
  })

  it('is paid what passed without it, so far as there is room', async () => {
    const { one } = startGateways({ perSecond: HOUR_LONG, burst: 10 })
    expect((await one({ owed: 2.5 })).level).toBe(2.5)
    expect(await one({ owed: 20, need: 1 })).toMatchObject({ level: 10, granted: 0 })
  })

  it('is gone from Redis once it is full', async () => {
    const { one, redisKey } = startGateways({ perSecond: 100, burst: 100 })
    await one({ need: 50 })
    expect(await redis.client.pttl(redisKey)).toBeLessThanOrEqual(1_500)
  })
})

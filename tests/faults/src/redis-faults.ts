import { Redis } from 'ioredis'
import type { CampaignStack } from './campaign-stack.ts'
import { type Fault, type Injected, nothingToHeal } from './fault.ts'

const CANARY = 'fault-campaign-canary'

async function withRedis<T>({ redisUrl }: CampaignStack, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(redisUrl)
  redis.on('error', () => {})
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

/** A fault that ends at once. `count` is the number of hits. */
function struck(count: number, what: string): Injected {
  return { lastsMs: 0, heal: nothingToHeal, witness: async () => (count > 0 ? `${count} ${what}` : undefined) }
}

const flush: Fault['inject'] = ({ stack }) =>
  withRedis(stack, async (redis) => {
    const keys = await redis.dbsize()
    await redis.flushall()
    return struck(keys, 'keys deleted')
  })

interface Copy {
  readonly key: string
  readonly dump: Buffer
  readonly ttlMs: number
}

async function copyOf(redis: Redis): Promise<Copy[]> {
  const keys = await redis.keys('*')
  const copies = await Promise.all(
    keys.map(async (key) => ({ key, dump: await redis.dumpBuffer(key), ttlMs: Math.max(0, await redis.pttl(key)) })),
  )
  return copies.filter(({ dump }) => dump !== null) // drops keys that expired meanwhile
}

/** Restores the data of some seconds ago, like the promotion of a lagging replica. */
const older: Fault['inject'] = async ({ stack }) => {
  const copies = await withRedis(stack, copyOf)
  let isCanaryGone = false
  return {
    lastsMs: 3_000,
    heal: () =>
      withRedis(stack, async (redis) => {
        await redis.set(CANARY, 'set after the copy')
        await redis.flushall()
        for (const { key, dump, ttlMs } of copies) await redis.restore(key, ttlMs, dump, 'REPLACE')
        isCanaryGone = (await redis.exists(CANARY)) === 0
      }),
    witness: async () => (isCanaryGone && copies.length > 0 ? `${copies.length} keys from 3 s earlier` : undefined),
  }
}

const cut: Fault['inject'] = ({ stack }) =>
  withRedis(stack, async (redis) => {
    const ended = Number(await redis.call('CLIENT', 'KILL', 'SKIPME', 'yes'))
    return struck(ended, 'connections cut')
  })

export const redisFaults: readonly Fault[] = [
  { name: 'FLUSHALL', family: 'Redis', inject: flush },
  { name: 'an older Redis', family: 'Redis', isShort: true, inject: older },
  { name: 'cut connections to Redis', family: 'Redis', inject: cut },
]

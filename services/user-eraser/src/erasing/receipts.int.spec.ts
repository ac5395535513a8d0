import { randomUUID } from 'node:crypto'
import { ERASURE_STORES, type ErasureCompleted } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { startOwnRedis } from '@nextvisit/testing/own-parts'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { newKey } from '../../test/given-eraser.ts'
import { givenErasures, REDIS_PREFIX, startWork } from '../../test/given-work.ts'

const PATIENT = { timeout: 20_000 }

/** An erasure whose stores have finished, except the keys: a topic without compaction keeps them. */
async function givenAlmostErased(redisUrl: string) {
  const given = await givenErasures()
  const key = newKey(randomUUID())
  await given.publishKey(key)
  const erasureId = await given.givenErasure(key.userId)
  await startWork(given, { redisUrl })
  const others = ERASURE_STORES.filter((store) => store !== 'user-keys').map((store) => [store, 'complete'])
  await expect
    .poll(() => given.readStores(erasureId), PATIENT)
    .toEqual({ ...Object.fromEntries(others), 'user-keys': 'running' })
  const receipts = async (): Promise<number> => {
    const rows = await given.db.$queryRaw<unknown[]>(sql`SELECT 1 FROM outbox WHERE key = ${erasureId}`)
    return rows.length
  }
  return { ...given, key, erasureId, receipts }
}

describe('the receipts', { timeout: 60_000 }, () => {
  it('are signed after a last deletion of markers in Redis, which gateways may have written again', async () => {
    const redisUrl = inject('redisUrl')
    const { key, erasureId, finishStore, receipts } = await givenAlmostErased(redisUrl)
    const client = new Redis(redisUrl)
    onTestFinished(() => client.disconnect())
    const marker = `${REDIS_PREFIX}user:${key.userId}`
    await client.set(marker, key.wrapped)
    await finishStore(erasureId, 'user-keys')
    await expect.poll(receipts, PATIENT).toBe(1)
    expect(await client.exists(marker)).toBe(0)
  })

  it('name the fact that counts, although the eraser has noted the place of its second copy', async () => {
    const given = await givenErasures()
    const erasureId = await given.givenErasure(randomUUID())
    await startWork(given, { fenceOffset: '5' })
    await expect.poll(() => given.readStores(erasureId), PATIENT).toMatchObject({ redis: 'complete' })
    await given.finishStore(erasureId, 'user-keys')
    const queued = async () => {
      const [row] = await given.db.$queryRaw<{ value: string }[]>(
        sql`SELECT value FROM outbox WHERE key = ${erasureId}`,
      )
      return row && JSON.parse((JSON.parse(row.value) as ErasureCompleted).receipt)
    }
    await expect.poll(queued, PATIENT).toMatchObject({ users: [{ offset: '5' }] })
  })

  it('wait for Redis, which the status names', async () => {
    const redis = await startOwnRedis()
    const { erasureId, finishStore, readStores, receipts } = await givenAlmostErased(redis.url)
    await redis.stop()
    await finishStore(erasureId, 'user-keys')
    await expect.poll(() => readStores(erasureId), PATIENT).toMatchObject({ redis: 'Redis does not answer.' })
    expect(await receipts()).toBe(0)
    const again = await startOwnRedis(redis.port)
    onTestFinished(again.stop)
    await expect.poll(receipts, PATIENT).toBe(1)
    expect(await readStores(erasureId)).toMatchObject({ redis: 'complete' })
  })
})

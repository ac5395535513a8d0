import { randomUUID } from 'node:crypto'
import { ERASURE_STORES, type ErasureCompleted, type ErasureReceipt } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { createDataKey } from '@nextvisit/sealing'
import { createMetrics } from '@nextvisit/service-kit'
import { startOwnRedis } from '@nextvisit/testing/own-parts'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { newKey, RING } from '../../test/given-eraser.ts'
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

/** Finishes every store by hand. Returns the queued receipts, in their order. */
async function receiptsOf(given: Awaited<ReturnType<typeof givenErasures>>, erasureIds: readonly string[]) {
  for (const erasureId of erasureIds) for (const store of ERASURE_STORES) await given.finishStore(erasureId, store)
  // Two owners, of which one has not noticed its loss.
  const second = { ...given, parts: { ...given.parts, metrics: createMetrics('second') } }
  await Promise.all([startWork(given), startWork(second)])
  const read = async () => {
    const rows = await given.db.$queryRaw<{ value: string }[]>(sql`SELECT value FROM outbox ORDER BY sequence`)
    return rows.map(({ value }): ErasureReceipt => JSON.parse((JSON.parse(value) as ErasureCompleted).receipt))
  }
  await expect.poll(async () => (await read()).length, PATIENT).toBeGreaterThanOrEqual(erasureIds.length)
  return read
}

describe('the receipts', { timeout: 60_000 }, () => {
  it('list the keys of their own erasure, and are queued once by two owners', async () => {
    const given = await givenErasures()
    const userId = randomUUID()
    const [firstMs, secondMs] = [Date.now() - 10_000, Date.now()]
    const first = await given.givenErasure(userId, { requestedAt: new Date(firstMs), keysUntilMs: firstMs + 60_000 })
    const second = await given.givenErasure(userId, { requestedAt: new Date(secondMs), keysUntilMs: firstMs + 120_000 })
    const [covered, later] = [firstMs, firstMs + 60_001].map((ms) => createDataKey(RING, userId, ms).wrapped.keyId)
    await given.db.$executeRaw(sql`
      INSERT INTO erased_keys SELECT ${userId}::uuid, key_id, 0, 'print', now()
      FROM unnest(${[covered ?? '', later ?? '']}::uuid[]) AS key_id`)
    const read = await receiptsOf(given, [first, second])
    const keysOf = new Map((await read()).map(({ erasureId, users }) => [erasureId, users[0]]))
    expect(keysOf.get(first)).toMatchObject({ keyCount: 1, keys: [{ keyId: covered, fingerprint: 'print' }] })
    expect(keysOf.get(second)).toMatchObject({ keyCount: 2, keys: [{ keyId: covered }, { keyId: later }] })
    expect(await read()).toHaveLength(2)
  })

  it('count all keys, and list 4,000 of them', async () => {
    const given = await givenErasures()
    const userId = randomUUID()
    const erasureId = await given.givenErasure(userId)
    await given.db.$executeRaw(sql`
      INSERT INTO erased_keys SELECT ${userId}::uuid, gen_random_uuid(), 0, '', now() FROM generate_series(1, 4001)`)
    const [receipt] = await (await receiptsOf(given, [erasureId]))()
    expect(receipt?.users[0]?.keyCount).toBe(4_001)
    expect(receipt?.users[0]?.keys).toHaveLength(4_000)
  })

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

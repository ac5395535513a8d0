import { randomUUID } from 'node:crypto'
import { type ErasureAnswer, TOPICS, type UserErased, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { fingerprintOf, verifyReceipt } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { type OwnKafka, startOwnKafka, startOwnRedis } from '@nextvisit/testing/own-parts'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import {
  ALL_COMPLETE,
  newKey,
  PARTITIONS,
  partitionOf,
  readAll,
  SECRET_KEY,
  startConsumers,
  startEraser,
  startGateway,
  storesOf,
} from '../test/given-eraser.ts'
import { userEraser } from './consumer.ts'

/** Shorter than an installation may set, because the specs wait for it. */
const RETENTION_MS = 4_000
const PATIENT = { timeout: 60_000, interval: 300 }

/** Waits for a status. Returns the answer. */
function untilStatus(read: () => Promise<ErasureAnswer | undefined>, status: ErasureAnswer['status']) {
  return vi.waitFor(async () => {
    const answer = await read()
    expect({ status: answer?.status, stores: storesOf(answer) }).toMatchObject({ status })
    return answer
  }, PATIENT)
}

describe('the user eraser', { timeout: 120_000 }, () => {
  let kafka: OwnKafka
  let redis: Awaited<ReturnType<typeof startOwnRedis>>
  let database: TestDatabase
  let consumers: Awaited<ReturnType<typeof startConsumers>>
  let gateway: Awaited<ReturnType<typeof startGateway>>
  let arePassed = true

  beforeAll(async () => {
    ;[kafka, redis, database] = await Promise.all([
      startOwnKafka(PARTITIONS, RETENTION_MS),
      startOwnRedis(),
      createTestDatabase(inject('databaseUrl'), userEraser),
    ])
    consumers = await startConsumers(() => arePassed)
    gateway = await startGateway(kafka.connection)
  })
  afterAll(async () => {
    await gateway?.stop()
    await consumers?.stop()
    await database?.drop()
    await redis?.stop()
    await kafka?.stop()
  })
  beforeEach(() => {
    arePassed = true
  })

  const givenEraser = (secretKey = SECRET_KEY) =>
    startEraser({
      secretKey,
      connection: kafka.connection,
      databaseUrl: database.url,
      redisUrl: redis.url,
      consumersUrl: consumers.url,
    })
  it('publishes the facts, destroys the keys on the disk, and signs a receipt', async () => {
    const [erased, other] = [randomUUID(), randomUUID()]
    const [key, kept] = [newKey(erased), newKey(other)]
    await gateway.publishKey(key)
    await gateway.publishKey(kept)
    const client = new Redis(redis.url)
    onTestFinished(() => client.disconnect())
    await client.set(`nextvisit:user:${erased}`, `${key.keyId} ${key.wrapped}`)
    await client.set(`nextvisit:user:${other}`, `${kept.keyId} ${kept.wrapped}`)
    arePassed = false
    const { read, calls } = await givenEraser()
    const request = await gateway.requestErasure([erased], { unknown: 1, suppress: true })
    const stores = await vi.waitFor(async () => {
      const answer = await read(request.id)
      expect(storesOf(answer)).toMatchObject({ 'user-events': 'complete', metering: 'running', redis: 'running' })
      return answer?.stores
    }, PATIENT)
    expect(stores?.map(({ store }) => store)).toEqual(Object.keys(ALL_COMPLETE))

    arePassed = true
    const answer = await untilStatus(() => read(request.id), 'complete')
    expect(storesOf(answer)).toEqual(ALL_COMPLETE)
    expect(answer).toMatchObject({ users: 1, unknown: 1, suppress: true, requestedAt: request.received })
    const segments = kafka.segmentsOf(USER_KEYS_TOPIC)
    expect(segments.includes(key.wrapped)).toBe(false)
    expect(segments.includes(kept.wrapped)).toBe(true)
    expect(await client.exists(`nextvisit:user:${erased}`)).toBe(0)
    expect(await client.exists(`nextvisit:user:${other}`)).toBe(1)

    const facts = (await readAll(kafka.connection, TOPICS.userEvents)).filter(({ key: userId }) => userId === erased)
    expect(facts).toHaveLength(1)
    const [{ partition, offset, value } = { partition: -1, offset: -1n, value: '' }] = facts
    const fact = JSON.parse(value ?? '') as UserErased
    expect(fact).toMatchObject({ type: 'UserErased', erasureId: request.id, received: request.received })
    expect(Date.parse(fact.keysUntil) - Date.parse(request.received)).toBe(60_000)
    expect(partition).toBe(partitionOf(erased))

    const installation = await calls.readInstallationKeys({})
    const receiptKey = installation.outcome === 'answered' ? installation.answer.receiptKey : ''
    expect(verifyReceipt(JSON.stringify(answer?.receipt), receiptKey)).toMatchObject({ outcome: 'valid' })
    expect(answer?.receipt).toMatchObject({
      erasureId: request.id,
      users: [
        {
          userId: erased,
          partition,
          offset: String(offset),
          keyCount: 1,
          keys: [{ keyId: key.keyId, fingerprint: fingerprintOf(key) }],
        },
      ],
      stores: expect.arrayContaining([
        expect.objectContaining({ store: 'user-projector', rows: 2 }),
        expect.objectContaining({ store: 'redis', rows: 1 }),
        expect.objectContaining({ store: 'user-keys', rows: 1 }),
      ]),
    })
    expect(consumers.asked).toContainEqual(expect.objectContaining({ userId: erased, offset: String(offset) }))

    // The key comes back, for example from a backup.
    await gateway.publishKey(key)
    await vi.waitFor(() => expect(kafka.segmentsOf(USER_KEYS_TOPIC).includes(key.wrapped)).toBe(true), PATIENT)
    await vi.waitFor(() => expect(kafka.segmentsOf(USER_KEYS_TOPIC).includes(key.wrapped)).toBe(false), PATIENT)
    expect(await read(request.id)).toMatchObject({ status: 'complete', completedAt: answer?.completedAt })
  })

  it('names the store that is missing, and completes once it is back, also after kill -9 at each step', async () => {
    const userIds = [randomUUID(), randomUUID()]
    const keys = userIds.map(newKey)
    for (const key of keys) await gateway.publishKey(key)
    const request = await gateway.requestErasure(userIds)
    arePassed = false
    await (await givenEraser()).kill()
    const second = await givenEraser()
    await untilStatus(() => second.read(request.id), 'running')
    await redis.stop()
    arePassed = true
    await vi.waitFor(
      async () => expect(storesOf(await second.read(request.id))).toMatchObject({ redis: 'incomplete' }),
      PATIENT,
    )
    expect(await second.read(request.id)).toMatchObject({ status: 'incomplete' })
    await second.kill()
    redis = await startOwnRedis(redis.port)
    const third = await givenEraser()
    await vi.waitFor(
      async () =>
        expect(storesOf(await third.read(request.id))).toMatchObject({ metering: 'complete', redis: 'complete' }),
      PATIENT,
    )
    await third.kill()
    // Two processes: one owns the work, and the other one takes over.
    const [one, other] = [await givenEraser(), await givenEraser()]
    await vi.waitFor(async () => expect(await one.read(request.id)).toBeDefined(), PATIENT)
    await one.kill()
    await untilStatus(() => other.read(request.id), 'complete')
    for (const { wrapped } of keys) expect(kafka.segmentsOf(USER_KEYS_TOPIC).includes(wrapped)).toBe(false)
    const completed = await readAll(kafka.connection, TOPICS.erasures)
    const ofThis = completed.filter(({ value }) => value?.includes('"ErasureCompleted"') && value.includes(request.id))
    expect(ofThis).toHaveLength(1)
    const receipts = await other.read(request.id)
    expect(receipts?.receipt?.users.map(({ userId }) => userId).toSorted()).toEqual(userIds.toSorted())
  })

  it('fences the newest key of a gateway whose clock is ahead', async () => {
    const userId = randomUUID()
    await givenEraser()
    const newestKeyAt = new Date(Date.now() + 3_600_000).toISOString()
    await gateway.requestErasure([userId], { newestKeyAt })
    await vi.waitFor(async () => {
      const fact = (await readAll(kafka.connection, TOPICS.userEvents)).find(({ key }) => key === userId)
      const { keysUntil } = JSON.parse(fact?.value ?? '{}') as Partial<UserErased>
      expect(Date.parse(keysUntil ?? '') - Date.parse(newestKeyAt)).toBe(60_000)
    }, PATIENT)
  })

  it('lists erasures, newest first, and completes two of the same user', async () => {
    const userId = randomUUID()
    const eraser = await givenEraser()
    const first = await gateway.requestErasure([userId], { received: '2026-11-02T10:00:00.000Z' })
    const second = await gateway.requestErasure([userId], { received: '2026-11-02T10:00:01.000Z' })
    await gateway.requestErasure([userId], { ...second })
    await untilStatus(() => eraser.read(first.id), 'complete')
    await untilStatus(() => eraser.read(second.id), 'complete')
    const untils = (await readAll(kafka.connection, TOPICS.userEvents))
      .filter(({ key }) => key === userId)
      .map(({ value }) => (JSON.parse(value ?? '') as UserErased).keysUntil)
    expect(untils).toEqual(['2026-11-02T10:01:00.000Z', '2026-11-02T10:02:00.000Z'])
    const all = await eraser.calls.listErasures({ organization: 'acme', project: 'shop', limit: 100 })
    const ids = all.outcome === 'answered' ? all.answer.erasures.map(({ erasureId }) => erasureId) : []
    expect(ids.slice(-2)).toEqual([second.id, first.id])
    const page = await eraser.calls.listErasures({
      organization: 'acme',
      project: 'shop',
      limit: 1,
      after: ids.at(-3) ?? '',
    })
    expect(page).toMatchObject({ answer: { erasures: [{ erasureId: second.id }], next: second.id } })
    const other = await eraser.calls.readErasure({ organization: 'acme', project: 'blog', erasureId: first.id })
    expect(other).toEqual({ outcome: 'not-found' })
  })

  // The last one: it leaves the keys of the installation under the new key.
  it('encrypts keys again after a rotation, and destroys them like others', async () => {
    const [erased, other] = [newKey(randomUUID()), newKey(randomUUID())]
    for (const key of [erased, other]) await gateway.publishKey(key)
    const newSecretKey = 'cd'.repeat(32)
    const { read } = await givenEraser(`${newSecretKey},${SECRET_KEY}`)
    const lastValues = async () => {
      const records = await readAll(kafka.connection, USER_KEYS_TOPIC)
      return [erased, other].map(({ keyId }) => records.findLast(({ key }) => key.endsWith(keyId))?.value ?? null)
    }
    const { newestKeyId } = givenKeyRing(newSecretKey)
    await vi.waitFor(async () => {
      for (const value of await lastValues()) expect(value).toMatch(new RegExp(`^${newestKeyId}\\.`))
    }, PATIENT)
    const [rewrapped] = await lastValues()

    const request = await gateway.requestErasure([erased.userId])
    const answer = await untilStatus(() => read(request.id), 'complete')
    const fingerprint = fingerprintOf({ wrapped: rewrapped ?? '' })
    expect(answer?.receipt?.users).toMatchObject([{ keyCount: 1, keys: [{ keyId: erased.keyId, fingerprint }] }])
    const segments = kafka.segmentsOf(USER_KEYS_TOPIC)
    expect([erased.wrapped, rewrapped ?? ''].filter((value) => segments.includes(value))).toEqual([])
    expect(await lastValues()).toEqual([null, expect.stringMatching(new RegExp(`^${newestKeyId}\\.`))])
  })
})

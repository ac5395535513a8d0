import { randomUUID } from 'node:crypto'
import { openTestDb } from '@nextvisit/database/testing'
import { createPublisher, readWatermarks, withLogAdmin } from '@nextvisit/log'
import { createDataKey, type DataKey, sealedWith, unwrapDataKey, type WrappedKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createLogger } from '@nextvisit/service-kit'
import { createTestDatabase, createTestTopic, deleteRecords } from '@nextvisit/testing'
import { expect, describe, inject, it, onTestFinished, vi } from 'vitest'
import { PROJECT, readAll } from '../../test/given-eraser.ts'
import { userEraser } from '../consumer.ts'
import { erasureUsers } from '../tables.ts'
import { createKeyRotation } from './key-rotation.ts'

const [OLD, NEW, LOST] = ['ab'.repeat(32), 'cd'.repeat(32), 'ef'.repeat(32)] as const
const [oldRing, newRing] = [givenKeyRing(OLD), givenKeyRing(NEW)]
const rotated = givenKeyRing(NEW, OLD)
const WITHIN_MS = 30_000
const PARTITIONS = 2
const PATIENT = { timeout: 30_000, interval: 200 }

/** A topic of keys, and a database of the eraser. */
async function givenUserKeys() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
  const database = await createTestDatabase(inject('databaseUrl'), userEraser)
  const db = openTestDb(database.url, userEraser.schema)
  const publisher = createPublisher(connection, { requestTimeoutMs: WITHIN_MS / 2 })
  await publisher.start()
  onTestFinished(async () => {
    await publisher.stop(1_000)
    await db.$disconnect()
    await database.drop()
  })

  const publish = async ({ userId, keyId }: WrappedKey, value: string | null, partition = 0): Promise<void> => {
    const record = { topic, partition, key: `${userId}/${keyId}`, value, headers: {} }
    expect(await publisher.publish(record, performance.now() + WITHIN_MS)).toMatchObject({ outcome: 'published' })
  }
  /** Publishes a new key, wrapped by the first key of a ring. */
  const givenKey = async (ring = oldRing, partition = 0): Promise<{ key: DataKey; wrapped: WrappedKey }> => {
    const created = createDataKey(ring, randomUUID(), Date.now())
    await publish(created.wrapped, created.wrapped.wrapped, partition)
    return created
  }
  /** Starts a process. Returns a function that runs a round of it, and returns the number of records that the round has published. */
  const startRotation = (ring = rotated, keysARound = 100): (() => Promise<number>) => {
    const logAdmin = { watermarks: (of: string) => readWatermarks(connection, of) }
    const logger = createLogger('spec', 'silent')
    const rotation = createKeyRotation({
      db,
      connection,
      publisher,
      logger,
      logAdmin,
      topic,
      keyRing: ring,
      keysARound,
    })
    onTestFinished(rotation.stop)
    return async () => {
      const before = (await readAll(connection, topic)).length
      await rotation.run()
      return (await readAll(connection, topic)).length - before
    }
  }
  /** Runs rounds of a process. Returns what each round has published, except rounds without keys. */
  const rotate = async (ring = rotated, keysARound = 100): Promise<readonly number[]> => {
    const runRound = startRotation(ring, keysARound)
    const rounds: number[] = []
    for (let round = 0; round < 20; round += 1) rounds.push(await runRound())
    return rounds.filter((published) => published > 0)
  }
  /** Reads the last value of a key. */
  const valueOf = async ({ userId, keyId }: WrappedKey): Promise<string | null | undefined> =>
    (await readAll(connection, topic)).findLast(({ key }) => key === `${userId}/${keyId}`)?.value
  const fence = async (userId: string): Promise<void> => {
    const keysUntil = new Date(Date.now() + 60_000).toISOString()
    await db.executeAll(erasureUsers.insertMissing([{ ...PROJECT, userId, erasureId: randomUUID(), keysUntil }]))
  }
  return { connection, topic, publish, givenKey, startRotation, rotate, valueOf, fence }
}

describe('the rotation of user-keys', { timeout: 120_000 }, () => {
  it('wraps keys by the newest key in bounded rounds, one partition after the other, and they open what they have sealed', async () => {
    const { givenKey, rotate, valueOf } = await givenUserKeys()
    const created = []
    for (const partition of [0, 0, 0, 0, 0, 1]) created.push(await givenKey(oldRing, partition))
    expect(await rotate(rotated, 2)).toEqual([2, 1, 2, 1])
    for (const { key, wrapped } of created) {
      const value = (await valueOf(wrapped)) ?? ''
      const unwrapped = unwrapDataKey(newRing, { ...wrapped, wrapped: value })
      expect(unwrapped.outcome === 'unwrapped' && unwrapped.key.open(key.seal('text', 'x'), 'x')).toBe('text')
    }
    // Another process, whose topic still has the earlier values.
    expect(await rotate()).toEqual([])
  })

  it('leaves out keys of the newest key, destroyed keys, keys of erased users, and what it cannot open', async () => {
    const { publish, givenKey, rotate, valueOf, fence } = await givenUserKeys()
    const [newest, lost] = [await givenKey(newRing), await givenKey(givenKeyRing(LOST))]
    const [destroyed, fenced, damaged, kept] = [await givenKey(), await givenKey(), await givenKey(), await givenKey()]
    await publish(destroyed.wrapped, null)
    await fence(fenced.wrapped.userId)
    await publish(damaged.wrapped, kept.wrapped.wrapped)
    expect(await rotate()).toEqual([1])
    expect(sealedWith((await valueOf(kept.wrapped)) ?? '')).toBe(rotated.newestKeyId)
    expect(await valueOf(destroyed.wrapped)).toBeNull()
    for (const { wrapped } of [newest, lost, fenced]) expect(await valueOf(wrapped)).toBe(wrapped.wrapped)
    expect(await valueOf(damaged.wrapped)).toBe(kept.wrapped.wrapped)
  })

  it('goes on at the first record once compaction has removed the record of its position', async () => {
    const { connection, topic, givenKey, startRotation, valueOf } = await givenUserKeys()
    for (let nth = 0; nth < 3; nth += 1) await givenKey()
    const runRound = startRotation(rotated, 1)
    expect(await runRound()).toBe(1)
    await deleteRecords(connection, topic, { partition: 0, before: 3 })
    const { wrapped: later } = await givenKey()
    expect(await runRound()).toBe(1)
    expect(sealedWith((await valueOf(later)) ?? '')).toBe(rotated.newestKeyId)
  })

  it('goes on at the first record of a topic that was created again', async () => {
    const { connection, topic, givenKey, startRotation } = await givenUserKeys()
    for (let nth = 0; nth < 3; nth += 1) await givenKey()
    const runRound = startRotation()
    expect([await runRound(), await runRound()]).toEqual([3, 0])
    await withLogAdmin(connection, async (admin) => {
      await admin.deleteTopic(topic)
      await vi.waitFor(async () => expect(await admin.partitionCount(topic)).toBe(0), PATIENT)
      await vi.waitFor(() => admin.createTopic(topic, { partitions: PARTITIONS }), PATIENT)
    })
    await vi.waitFor(() => givenKey(), PATIENT)
    expect(await runRound()).toBeGreaterThan(0)
  })

  it('publishes nothing while the ring has one key', async () => {
    const { givenKey, rotate } = await givenUserKeys()
    await givenKey(oldRing)
    expect(await rotate(oldRing)).toEqual([])
    expect(await rotate(newRing)).toEqual([])
  })
})

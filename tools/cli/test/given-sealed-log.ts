import { randomUUID } from 'node:crypto'
import { encodeRecord, type SealedUserFact, type UserFact } from '@nextvisit/contracts'
import { userErased } from '@nextvisit/contracts/fixtures'
import { keysUntilMsOf } from '@nextvisit/domain'
import { createPublisher, type LogConnection, partitionForKey } from '@nextvisit/log'
import { createDataKey, type WrappedKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { keyRecordOf, sealWith } from '@nextvisit/user-keys'
import { expect, inject, onTestFinished } from 'vitest'
import type { RecordTopics } from '../src/shown-records/fences.ts'

/** The environment of a command that may open records. */
export const SECRET_ENV = { NEXTVISIT_SECRET_KEY: 'ab'.repeat(32) }
const ring = givenKeyRing(SECRET_ENV.NEXTVISIT_SECRET_KEY)
export const PARTITIONS = 3

interface Content {
  readonly key: string
  readonly value: string | null
  readonly headers?: Readonly<Record<string, string>>
}
type Member = SealedUserFact | { readonly type: string; readonly id: string; readonly userId: string }

/** Creates topics of its own, and functions that publish sealed records, keys and erasures to them. */
export async function givenSealedLog() {
  const brokers = inject('kafkaBrokers')
  const create = async (partitions: number) => (await createTestTopic(brokers, { partitions })).topic
  const topics: RecordTopics = {
    userEvents: await create(PARTITIONS),
    formEvents: await create(PARTITIONS),
    userKeys: await create(PARTITIONS),
    erasures: await create(1),
  }
  const connection: LogConnection = { brokers: brokers.split(','), clientId: 'test' }
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  /** The newest key of each user. */
  const keys = new Map<string, ReturnType<typeof createDataKey>>()

  async function publish(topic: string, { key, value, headers = {} }: Content) {
    const partition = topic === topics.erasures ? 0 : partitionForKey(key.split('/', 1)[0] ?? '', PARTITIONS)
    const deadlineAt = performance.now() + 20_000
    const outcome = await publisher.publish({ topic, partition, key, value, headers }, deadlineAt)
    expect(outcome.outcome).toBe('published')
  }

  async function publishKey(stored: WrappedKey): Promise<void> {
    const deadlineAt = performance.now() + 20_000
    const partition = partitionForKey(stored.userId, PARTITIONS)
    const outcome = await publisher.publish(keyRecordOf(stored, partition, topics.userKeys), deadlineAt)
    expect(outcome.outcome).toBe('published')
  }

  async function keyOf(userId: string, atMs = Date.now()) {
    const known = keys.get(userId)
    if (known) return known
    const created = createDataKey(ring, userId, atMs)
    keys.set(userId, created)
    await publishKey(created.wrapped)
    return created
  }

  /** Publishes a record, sealed with the user's key. */
  async function record(fact: UserFact | Member, topic = topics.userEvents): Promise<void> {
    const { key } = await keyOf(fact.userId)
    const options = { source: 'spec', time: new Date().toISOString(), seal: sealWith(key) }
    await publish(topic, { key: fact.userId, ...encodeRecord(fact, options) })
  }

  /**
   * Erases a user as the product does: the request, the fences, and a tombstone of the key. Returns the destroyed key. The user's
   * later records have a key of their own.
   */
  async function erase(
    { organization, project, userId }: Pick<UserFact, 'organization' | 'project' | 'userId'>,
    queueErased: { readonly causeOffset?: number } = {},
  ) {
    const { wrapped } = await keyOf(userId)
    const [received, erasureId] = [new Date().toISOString(), randomUUID()]
    const place = { organization, project, received }
    const requested = {
      type: 'ErasureRequested',
      id: erasureId,
      ...place,
      userIds: [userId],
      unknown: 0,
      suppress: false,
    }
    const options = { source: 'spec', time: received }
    await publish(topics.erasures, { key: erasureId, ...encodeRecord(requested, options) })
    const keysUntilMs = keysUntilMsOf(Date.parse(received))
    const keysUntil = new Date(keysUntilMs).toISOString()
    await record(userErased({ ...place, userId, erasureId, keysUntil }))
    const erased = { organization, project, userId, at: received, erasureId, keysUntil, ...queueErased }
    const queue = { type: 'QueueErased', id: randomUUID(), ...erased }
    await record(queue, topics.formEvents)
    await publish(topics.userKeys, { key: `${userId}/${wrapped.keyId}`, value: null })
    keys.delete(userId)
    keys.set(userId, await keyOf(userId, keysUntilMs + 1))
    return wrapped
  }

  /** Deletes the newest key of a user, without an erasure. */
  async function loseKey(userId: string): Promise<void> {
    const { wrapped } = await keyOf(userId)
    await publish(topics.userKeys, { key: `${userId}/${wrapped.keyId}`, value: null })
  }

  return { connection, topics, ring, publish, publishKey, record, erase, loseKey }
}

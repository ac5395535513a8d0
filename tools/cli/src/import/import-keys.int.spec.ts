import { randomUUID } from 'node:crypto'
import { erasedUsers, userKeys } from '@nextvisit/consumer'
import type { ErasureRequested, ActivityFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { type CommitDb, openCommitDb, sql } from '@nextvisit/database'
import { keyTimeMs } from '@nextvisit/domain'
import { createPublisher, readLog, type Publisher } from '@nextvisit/log'
import { createDataKey, type WrappedKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import type { Fences } from '@nextvisit/user-keys'
import { givenErasures } from '@nextvisit/user-keys/test/given-erasures.ts'
import { createTestDatabase, createTestTopic, type TestDatabase, PATIENT_REQUESTS } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { consumerNamed, type ConsumerDatabase, openConsumerDatabase } from '../environment/consumer-database.ts'
import { createImportKeys } from './import-keys.ts'
import { publishFacts } from './publish-facts.ts'

const keyRing = givenKeyRing('ab'.repeat(32))
const consumer = consumerNamed('user-projector')
const project = { organization: 'acme', project: 'shop' }
const PARTITIONS = 3

let database: TestDatabase
let db: CommitDb
let projector: ConsumerDatabase
let publisher: Publisher
let keysTopic: Awaited<ReturnType<typeof createTestTopic>>
beforeAll(async () => {
  database = await createTestDatabase(inject('databaseUrl'), consumer)
  db = openCommitDb({ url: database.url, schema: consumer.schema, applicationName: 'spec' })
  projector = openConsumerDatabase({ DATABASE_URL: database.url }, consumer)
  keysTopic = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
  publisher = createPublisher(keysTopic.connection, PATIENT_REQUESTS)
  await publisher.start()
})
afterAll(async () => {
  await publisher?.stop(1_000)
  await projector?.close()
  await db?.$disconnect()
  await database?.drop()
})

function logOf({ topic, connection } = keysTopic) {
  return { connection, publisher, partitions: PARTITIONS, keysTopic: topic }
}

function givenImportKeys(fences: Fences = givenErasures()) {
  return createImportKeys({ project, keyRing, fences, projector, log: logOf() })
}

/** Reads the values of a topic of this spec, by key. */
async function valuesOn(topic: string): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>()
  await readLog(keysTopic.connection, {
    topic,
    from: new Map(Array.from({ length: PARTITIONS }, (_, partition) => [partition, 0n])),
    onBatch: ({ records }) => {
      for (const { key, value } of records) values.set(String(key), String(value))
    },
    until: 'end',
  })
  return values
}

/** Facts of a new user: an identify, an event with properties and one without. */
function factsOf(userName: string): readonly [ActivityFact, ActivityFact, ActivityFact] {
  return [
    identifyRequested({ userName, imported: true }),
    eventTracked({ userName, imported: true, properties: { total: 1 } }),
    eventTracked({ userName, imported: true }),
  ]
}

const newName = () => `user ${randomUUID()}`
const storedKey = async (key: WrappedKey) => db.executeAll(userKeys.upsert([{ ...key, partition: 0 }]))
const erase = (userId: string, keysUntilMs: number) => {
  const keysUntil = new Date(keysUntilMs).toISOString()
  const row = { ...project, userId, partition: 0, offset: 1n, keysUntil, erasureId: randomUUID(), rows: 0n }
  return db.executeAll(erasedUsers.upsert([row]))
}

const rememberFolded = ({ id }: ActivityFact) =>
  db.executeAll([sql`INSERT INTO idempotent_records (record_id, partition, received) VALUES (${id}::uuid, 0, now())`])

describe('the data keys of an import', () => {
  it('are created once for each user that needs one, and are in the log before its records', async () => {
    const importKeys = givenImportKeys()
    const facts = ['one', 'two', 'three'].map(newName).flatMap(factsOf)
    const withoutKey = eventTracked({ userName: newName() })
    const { keys, erased } = await importKeys.keysFor([...facts, withoutKey])
    expect([keys.size, erased.size]).toEqual([3, 0])
    const published = await valuesOn(keysTopic.topic)
    for (const [userId, { id }] of keys) expect(published.has(`${userId}/${id}`)).toBe(true)
    expect((await importKeys.keysFor(facts)).keys).toEqual(keys)
    expect((await valuesOn(keysTopic.topic)).size).toBe(published.size)
  })

  it('are those that the projector knows, also of users who left the memory', async () => {
    const [identify] = factsOf(newName())
    const now = Date.now()
    const { wrapped } = createDataKey(keyRing, identify.userId, now)
    await storedKey(createDataKey(keyRing, identify.userId, now - 1).wrapped)
    await storedKey(wrapped)
    const { keys } = await givenImportKeys().keysFor([identify])
    expect(keys.get(identify.userId)?.id).toBe(wrapped.keyId)
  })

  it('seal every name, trait and property', async () => {
    const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
    const userName = newName()
    const facts = [
      identifyRequested({ userName, operations: { set: { plan: 'canary trait' } }, device: { $browser: 'canary' } }),
      eventTracked({ userName, properties: { coupon: 'canary property' } }),
    ]
    const { keys } = await givenImportKeys().keysFor(facts)
    const sealed = facts.map((fact) => ({ fact, key: keys.get(fact.userId) }))
    await publishFacts(sealed, new Map(), { ...logOf(), connection, topic })
    const text = [...(await valuesOn(topic)).values()].join()
    expect(text).toContain('"sealed"')
    expect(text).not.toMatch(/canary/)
    expect(text).not.toContain(userName)
  })
})

describe('a user who was erased, and whose file is imported again', () => {
  it('gets no key for records that were folded before the erasure, and a later key for others', async () => {
    const [before, , after] = factsOf(newName())
    const later = { ...before, id: randomUUID() }
    const keysUntilMs = Date.now() + 60_000
    await storedKey(createDataKey(keyRing, before.userId, Date.now()).wrapped)
    await erase(before.userId, keysUntilMs)
    await rememberFolded(before)
    const { keys, erased } = await givenImportKeys().keysFor([before, later, after])
    expect(erased).toEqual(new Set([before.id]))
    expect(keyTimeMs(keys.get(before.userId)?.id ?? '')).toBe(keysUntilMs + 1)
  })

  it('gets no key for records that were folded, while the projector has not folded the erasure', async () => {
    const [before] = factsOf(newName())
    await storedKey(createDataKey(keyRing, before.userId, Date.now()).wrapped)
    await rememberFolded(before)
    const received = new Date().toISOString()
    const about = { ...project, received, userIds: [before.userId], unknown: 0, suppress: false }
    const request: ErasureRequested = { type: 'ErasureRequested', id: randomUUID(), ...about }
    const { keys, erased } = await givenImportKeys(givenErasures([request])).keysFor([before])
    expect([[...erased], keys.size]).toEqual([[before.id], 0])
  })
})

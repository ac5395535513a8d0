import { createUserKeys, userKeys, type UserKeys } from '@nextvisit/consumer'
import { type Seal, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { createDataKey, type DataKey, type KeyRing, parseKeyRing, type WrappedKey } from '@nextvisit/sealing'

/** The value of NEXTVISIT_SECRET_KEY in specs. */
export const TEST_SECRET_KEY = '74657374'.repeat(8)
export const testKeyRing = ringOf(TEST_SECRET_KEY)

function ringOf(secretKey: string): KeyRing {
  const parsed = parseKeyRing(secretKey)
  if (parsed.outcome === 'invalid') throw new TypeError(parsed.reason)
  return parsed.ring
}

const keys = new Map<string, { readonly key: DataKey; readonly wrapped: WrappedKey }>()

/** Returns the data key of a user, the same in all specs of a file. */
export function testKeyOf(userId: string): { readonly key: DataKey; readonly wrapped: WrappedKey } {
  const known = keys.get(userId) ?? createDataKey(testKeyRing, userId, Date.now())
  keys.set(userId, known)
  return known
}

/** Returns a function that seals the personal members of a user's facts. */
export function testSealOf(userId: string): Seal {
  return (text, context) => {
    const { key } = testKeyOf(userId)
    return { key: key.id, bytes: key.seal(text, context) }
  }
}

/** Stores the data keys of users as a consumer does once it has read them from `user-keys`. */
export async function storeTestKeys(db: Db, facts: readonly object[]): Promise<void> {
  const userIds = new Set(facts.flatMap((fact) => ('userId' in fact ? String(fact.userId) : [])))
  const rows = [...userIds].map((userId) => ({ ...testKeyOf(userId).wrapped, partition: 0 }))
  for (const insertion of userKeys.insertMissing(rows)) await db.$executeRaw(insertion)
}

/** Creates the keys of a projection whose specs store all of them: it never asks Kafka. */
export function storedTestKeys(projection: string): UserKeys {
  return createUserKeys({
    ring: testKeyRing,
    projection,
    topic: USER_KEYS_TOPIC,
    connection: { brokers: ['127.0.0.1:1'], clientId: 'test' },
    readMarks: () => Promise.reject(new Error('The spec has not stored a key')),
  })
}

import { randomUUID } from 'node:crypto'
import type { Consumer } from '@nextvisit/consumer'
import { createDataKey, createInstallationKeys } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { consumers } from '@nextvisit/services'
import { createTestDatabase } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { inConsumerDatabase } from '../environment/consumer-database.ts'
import { readStoredKeys } from './stored-keys.ts'

const [oldRing, newRing] = ['ab', 'cd'].map((byte) => givenKeyRing(byte.repeat(32))) as [
  ReturnType<typeof givenKeyRing>,
  ReturnType<typeof givenKeyRing>,
]

/** Creates the databases of these consumers. */
async function givenDatabases(...names: readonly string[]) {
  const env: Record<string, string> = {}
  for (const consumer of consumers.filter(({ name }) => names.includes(name))) {
    const database = await createTestDatabase(inject('databaseUrl'), consumer)
    onTestFinished(database.drop)
    env[consumer.databaseVariable] = database.url
  }
  const query = async (service: string, text: string, values: readonly string[]): Promise<void> => {
    const consumer = consumers.find(({ name }) => name === service) as Consumer
    await inConsumerDatabase(env, consumer, (client) => client.query(text, [...values]))
  }
  const storeKey = async (service: string, ring: typeof oldRing): Promise<void> => {
    const { userId, keyId, wrapped } = createDataKey(ring, randomUUID(), Date.now()).wrapped
    await query(service, 'INSERT INTO user_keys VALUES ($1, $2, $3, 0)', [userId, keyId, wrapped])
  }
  return { env, query, storeKey }
}

describe('the keys in Postgres', () => {
  it('are counted by the secret key that encrypts them, where most are', async () => {
    const consumersWithKeys = ['user-projector', 'form-trigger-evaluator', 'answer-collector', 'user-eraser']
    const { env, query, storeKey } = await givenDatabases(...consumersWithKeys)
    await storeKey('user-projector', oldRing)
    await storeKey('user-projector', newRing)
    // It has not read the key again yet, and one more.
    await storeKey('form-trigger-evaluator', oldRing)
    await storeKey('form-trigger-evaluator', oldRing)
    const { receiptKey, receiptSecret, suppressionKey } = createInstallationKeys(oldRing)
    await query(
      'user-eraser',
      'INSERT INTO installation_keys (receipt_key, receipt_secret, suppression_key) VALUES ($1, $2, $3)',
      [receiptKey, receiptSecret, suppressionKey],
    )
    const { newestKeyId: oldId } = oldRing
    const dataKeys = new Map([
      [oldId, 2],
      [newRing.newestKeyId, 1],
    ])
    // A busy Postgres does not answer in time.
    await vi.waitFor(
      async () => {
        expect(await readStoredKeys(env)).toEqual({ dataKeys, installationKeys: new Map([[oldId, 2]]) })
      },
      { timeout: 30_000 },
    )
  })

  it('are not known if one of the databases does not answer', async () => {
    const { env } = await givenDatabases('user-projector')
    const away = { ...env, FORM_TRIGGER_EVALUATOR_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    expect(await readStoredKeys(away)).toEqual({ dataKeys: null, installationKeys: null })
  })
})

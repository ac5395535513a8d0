import { randomUUID } from 'node:crypto'
import { ERASURE_STORES } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { keyNameOf } from '@nextvisit/sealing'
import { countRowsRead, deleteRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { newKey } from '../../test/given-eraser.ts'
import { givenErasures, startWork } from '../../test/given-work.ts'
import { createKeySweep } from './key-sweep.ts'
import { noteKeysOnly, readPendingKeys } from './key-rows.ts'
import { haveFinished, noteFacts } from './running-erasures.ts'
import { createTurns } from './turns.ts'

const PATIENT = { timeout: 40_000 }
const MANY = 2_000

/** An erasure that waits for its keys alone, as an earlier owner has left it. */
async function givenKeysOnly() {
  const given = await givenErasures()
  const key = newKey(randomUUID())
  await given.publishKey(key)
  const erasureId = await given.givenErasure(key.userId)
  for (const store of ERASURE_STORES) if (store !== 'user-keys') await given.finishStore(erasureId, store)
  await noteKeysOnly(given.db, [erasureId])
  return { ...given, key, erasureId }
}

describe('an erasure that waits for its keys alone', { timeout: 120_000 }, () => {
  it('costs a round nothing, however many there are', async () => {
    const { db, givenManyErasures } = await givenErasures()
    await givenManyErasures('evil', MANY)
    await db.$executeRaw(sql`
      INSERT INTO erasure_stores (erasure_id, store, finished_at)
      SELECT erasure_id, store, now() FROM erasures, unnest(${[...ERASURE_STORES]}::text[]) AS store
      WHERE store <> 'user-keys'`)
    await db.$executeRaw(sql`UPDATE erasures SET keys_only = true`)
    await givenManyErasures('acme', 1)
    await db.$queryRaw(sql`VACUUM ANALYZE erasures, erasure_stores`)
    const turns = createTurns()
    const round = async (): Promise<void> => {
      await noteFacts(db, new Date())
      const { erasureIds } = await turns.next(db, sql`NOT ${haveFinished('metering')}`)
      expect(erasureIds).toHaveLength(1)
      expect(await readPendingKeys(db)).toMatchObject([{ isPublished: true }])
    }
    // The only erasure of acme, in each question, and its stores.
    expect(await countRowsRead(db, ['erasures', 'erasure_stores'], round)).toBeLessThan(20)
  })

  it('is known to be one once its keys were searched for, and gets its receipt once they are gone', async () => {
    const given = await givenErasures({ segmentMs: 2_000 })
    const key = newKey(randomUUID())
    await given.publishKey(key)
    const erasureId = await given.givenErasure(key.userId)
    await startWork(given)
    const areOnlyKeysLeft = async () => {
      const [row] = await given.db.$queryRaw<{ keysOnly: boolean }[]>(
        sql`SELECT keys_only AS "keysOnly" FROM erasures WHERE erasure_id = ${erasureId}::uuid`,
      )
      return row?.keysOnly
    }
    await expect.poll(areOnlyKeysLeft, PATIENT).toBe(true)
    expect(await given.db.$queryRaw(sql`SELECT key_id AS "keyId" FROM erased_keys`)).toEqual([{ keyId: key.keyId }])
    // Kafka compacts the topic.
    const before = Number((await given.logAdmin.watermarks(given.topic)).get(0)?.high)
    await deleteRecords(given.connection, given.topic, { partition: 0, before })
    const receipts = () => given.db.$queryRaw<unknown[]>(sql`SELECT 1 FROM outbox WHERE key = ${erasureId}`)
    await expect.poll(async () => (await receipts()).length, PATIENT).toBe(1)
  })

  it('is searched for by a new owner', async () => {
    const given = await givenKeysOnly()
    await startWork(given)
    await expect.poll(async () => (await given.lastValues()).get(keyNameOf(given.key)), PATIENT).toBeNull()
  })

  it('is searched for by an owner whose first search was before that of an earlier owner', async () => {
    const given = await givenErasures({ segmentMs: 100 })
    const key = newKey(randomUUID())
    await given.publishKey(key)
    const { run } = createKeySweep(given)
    await run({ areSomeRunning: true })
    const erasureId = await given.givenErasure(key.userId)
    await noteKeysOnly(given.db, [erasureId])
    const sweepAndRead = async () => {
      await run({ areSomeRunning: true })
      return (await given.lastValues()).get(keyNameOf(key))
    }
    await expect.poll(sweepAndRead, PATIENT).toBeNull()
  })

  it('is none if its keys have just left the topic, so that it gets its receipt', async () => {
    const { db, erasureId, finishStore } = await givenKeysOnly()
    await finishStore(erasureId, 'user-keys')
    await noteKeysOnly(db, [erasureId])
    expect(await db.$queryRaw(sql`SELECT keys_only AS "keysOnly" FROM erasures`)).toEqual([{ keysOnly: false }])
  })

  it('names the reason why its keys cannot be searched for', async () => {
    const given = await givenKeysOnly()
    await startWork({ ...given, topic: 'no-such-topic' })
    await expect
      .poll(() => given.readStores(given.erasureId), PATIENT)
      .toMatchObject({ 'user-keys': 'The topic no-such-topic does not exist. Run nextvisit topics create.' })
  })
})

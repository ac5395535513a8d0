import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '@nextvisit/database'
import { createDataKey, keyNameOf } from '@nextvisit/sealing'
import { deleteRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { newKey, RING } from '../../test/given-eraser.ts'
import { givenErasures, startWork } from '../../test/given-work.ts'
import { keyCursors } from '../tables.ts'
import { insertLeftKeys, noteDestroyedKeys } from './key-rows.ts'

const PATIENT = { timeout: 40_000 }
const SEGMENT_MS = 60_000

describe('the sweep of user-keys', { timeout: 120_000 }, () => {
  it('destroys keys once consumers have folded the erasure, or a quarter of the retention after the request', async () => {
    const given = await givenErasures({ segmentMs: SEGMENT_MS })
    const [waits, due] = [newKey(randomUUID()), newKey(randomUUID())]
    for (const key of [waits, due]) await given.publishKey(key)
    await given.givenErasure(waits.userId)
    const requestedAt = new Date(Date.now() - SEGMENT_MS - 1)
    await given.givenErasure(due.userId, { requestedAt, keysUntilMs: Date.now() })
    let arePassed = false
    await startWork(given, { arePassed: () => arePassed })
    await expect.poll(async () => (await given.lastValues()).get(keyNameOf(due)), PATIENT).toBeNull()
    // The search for keys that are published again has found it, too.
    expect(await given.db.$queryRaw(sql`SELECT key_id AS "keyId" FROM erased_keys`)).toContainEqual({
      keyId: waits.keyId,
    })
    expect((await given.lastValues()).get(keyNameOf(waits))).toBe(waits.wrapped)
    arePassed = true
    await expect.poll(async () => (await given.lastValues()).get(keyNameOf(waits)), PATIENT).toBeNull()
  })

  it('names a key of a clock that is ahead, and finishes once another erasure covers the key', async () => {
    const given = await givenErasures()
    const aheadMs = Date.now() + 600_000
    const { wrapped: key } = createDataKey(RING, randomUUID(), aheadMs)
    await given.publishKey(key)
    // The clock of another gateway is slightly ahead.
    const requestedAt = new Date(Date.now() + 5_000)
    const erasureId = await given.givenErasure(key.userId, { requestedAt })
    // The user has returned, under the first key that no erasure covers.
    const { wrapped: returned } = createDataKey(RING, randomUUID(), requestedAt.getTime() + 60_001)
    await given.publishKey(returned)
    const other = await given.givenErasure(returned.userId, { requestedAt })
    await startWork(given)
    await expect.poll(() => given.readStores(other), PATIENT).toMatchObject({ 'user-keys': 'complete' })
    expect(await given.readStores(erasureId)).toMatchObject({ 'user-keys': expect.stringContaining('clock is ahead') })

    const again = await given.givenErasure(key.userId, { keysUntilMs: aheadMs })
    await expect.poll(() => given.readStores(erasureId), PATIENT).toMatchObject({ 'user-keys': 'running' })
    expect(await given.readStores(again)).toMatchObject({ 'user-keys': 'running' })
    expect(await given.lastValues()).toEqual(
      new Map([
        [keyNameOf(key), null],
        [keyNameOf(returned), returned.wrapped],
      ]),
    )
  })

  it('does not mark keys of users as gone that it did not look for', async () => {
    const { db } = await givenErasures()
    const [found, other] = [newKey(randomUUID()), newKey(randomUUID())]
    await db.executeAll(
      insertLeftKeys(
        0,
        [found, other].map((key) => ({ ...key, fingerprint: '' })),
      ),
    )
    await noteDestroyedKeys(db, { partition: 0, userIds: new Set([found.userId]) }, [], new Date())
    expect(await db.$queryRaw(sql`SELECT key_id AS "keyId" FROM erased_keys WHERE gone_at IS NULL`)).toEqual([
      { keyId: other.keyId },
    ])
  })

  it('takes a twentieth of the time for scans, also of new erasures', async () => {
    const given = await givenErasures()
    const { asked } = await startWork(given, { slowScansMs: 300 })
    const scans = () => asked.statements.filter((text) => text.includes('AS watched')).length
    await expect.poll(scans, PATIENT).toBe(1)
    const key = newKey(randomUUID())
    await given.publishKey(key)
    const erasureId = await given.givenErasure(key.userId)
    await expect.poll(() => given.readStores(erasureId), PATIENT).toMatchObject({ 'user-projector': 'complete' })
    await sleep(1_500)
    expect(scans()).toBe(1)
    await expect.poll(scans, PATIENT).toBe(2)
  })

  it.each([
    ['a topic that was created again', { cursor: 1_000n, deleted: 0 }],
    ['a topic whose beginning was compacted', { cursor: 0n, deleted: 2 }],
  ])('finds keys that are published again in %s', async (_name, { cursor, deleted }) => {
    const given = await givenErasures()
    const key = newKey(randomUUID())
    const erasureId = await given.givenErasure(key.userId)
    await given.db.$executeRaw(sql`UPDATE erasures SET completed_at = now() WHERE erasure_id = ${erasureId}::uuid`)
    await given.db.executeAll(keyCursors.upsert([{ partition: 0, nextOffset: cursor }]))
    for (let nth = 0; nth < deleted; nth += 1) await given.publishKey(newKey(randomUUID()))
    await given.publishKey(key)
    if (deleted > 0) await deleteRecords(given.connection, given.topic, { partition: 0, before: deleted })
    await startWork(given)
    await expect.poll(given.lastValues, PATIENT).toEqual(new Map([[keyNameOf(key), null]]))
  })
})

import { randomUUID } from 'node:crypto'
import { ERASURE_STORES, type ErasureReceipt } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { PROJECT } from '../test/given-eraser.ts'
import { givenErasures } from '../test/given-work.ts'
import { listErasures, readErasure } from './queries.ts'

const AT = '2026-11-02T10:00:00.000Z'

it('an erasure whose rows of stores are lost has the numbers of its receipt', { timeout: 60_000 }, async () => {
  const { db, givenErasure, finishStore } = await givenErasures()
  const erasureId = await givenErasure(randomUUID())
  const stores = ERASURE_STORES.map((store, at) => ({ store, at: AT, rows: at + 2 }))
  const receipt: ErasureReceipt = {
    version: 1,
    erasureId,
    ...PROJECT,
    requestedAt: AT,
    completedAt: AT,
    suppress: false,
    unknown: 0,
    users: [],
    stores,
    notCovered: [],
    publicKey: '',
    signature: '',
  }
  await db.$executeRaw(sql`UPDATE erasures SET completed_at = ${AT}::timestamptz, receipt = ${JSON.stringify(receipt)}`)
  // A restored backup from before the end.
  await finishStore(erasureId, 'user-events')
  const { erasures } = await listErasures(db, { ...PROJECT, limit: 10 }, new Date())
  expect(erasures).toMatchObject([
    { status: 'complete', stores: stores.map((store) => ({ ...store, status: 'complete' })) },
  ])
})

it('says when running stores finish at the latest, of user-keys once the keys were counted', async () => {
  const { db, givenErasure, finishStore } = await givenErasures()
  const requestedAt = new Date('2026-11-02T10:00:00.000Z')
  const erasureId = await givenErasure(randomUUID(), { requestedAt })
  await finishStore(erasureId, 'user-events')
  const dueTimes = async (now: string) => {
    const answer = await readErasure(db, { ...PROJECT, erasureId }, new Date(now))
    return Object.fromEntries((answer?.stores ?? []).map(({ store, dueAt }) => [store, dueAt]))
  }
  const [minute, hour] = ['2026-11-02T10:01:00.000Z', '2026-11-02T11:00:00.000Z']
  expect(await dueTimes('2026-11-02T10:00:30Z')).toMatchObject({
    'user-events': undefined,
    'user-projector': minute,
    redis: minute,
    'user-keys': undefined,
  })
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores (erasure_id, store, due_at) VALUES (${erasureId}::uuid, 'user-keys', ${hour}::timestamptz)`)
  expect(await dueTimes('2026-11-02T10:30:00Z')).toMatchObject({ redis: undefined, 'user-keys': hour })
  expect(await dueTimes('2026-11-02T11:00:01Z')).toMatchObject({ 'user-keys': undefined })
})

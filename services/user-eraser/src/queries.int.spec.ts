import { randomUUID } from 'node:crypto'
import { ERASURE_STORES, type ErasureReceipt } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { PROJECT } from '../test/given-eraser.ts'
import { givenErasures } from '../test/given-work.ts'
import { listErasures } from './queries.ts'

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

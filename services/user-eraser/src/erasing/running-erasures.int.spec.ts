import { randomUUID } from 'node:crypto'
import { type Db, sql } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { givenErasures } from '../../test/given-work.ts'
import { erasureFacts } from '../tables.ts'
import { noteFacts, noteFences, noteProgress } from './running-erasures.ts'

const AT = new Date('2026-11-02T10:00:00.000Z')

const readOffsets = (db: Db) => db.$queryRaw(sql`SELECT "offset"::int FROM erasure_facts`)
const readStores = (db: Db) =>
  db.$queryRaw(sql`SELECT store, rows::int, because, finished_at AS at FROM erasure_stores ORDER BY store`)

describe('the progress of an erasure', () => {
  it('has the place of the first copy of a fact, whatever is noted later', async () => {
    const { db, givenErasure } = await givenErasures()
    const userId = randomUUID()
    const erasureId = await givenErasure(userId)
    for (const [offset, expected] of [
      ['8', 7],
      ['5', 5],
      ['6', 5],
    ] as const) {
      await noteFences(db, [
        { erasureId, userId, offset },
        { erasureId, userId: randomUUID(), offset: '1' },
      ])
      expect(await readOffsets(db)).toEqual([{ offset: expected }])
    }
  })

  it('keeps a store that has finished', async () => {
    const { db, givenErasure } = await givenErasures()
    const erasureId = await givenErasure(randomUUID())
    const waits = { erasureId, rows: 1, isFinished: false, because: 'It waits.' }
    await noteProgress(db, 'metering', [waits], AT)
    expect(await readStores(db)).toEqual([{ store: 'metering', rows: 1, because: 'It waits.', at: null }])
    await noteProgress(db, 'metering', [{ erasureId, rows: 2, isFinished: true }], AT)
    const finished = [{ store: 'metering', rows: 2, because: null, at: AT }]
    expect(await readStores(db)).toEqual(finished)
    await noteProgress(db, 'metering', [waits], new Date())
    expect(await readStores(db)).toEqual(finished)
  })

  it('finishes user-events once the facts of all its users are published', async () => {
    const { db, givenErasure } = await givenErasures()
    const erasureId = await givenErasure(randomUUID())
    await db.$executeRaw(sql`UPDATE erasures SET users = 2`)
    await noteFacts(db, AT)
    expect(await readStores(db)).toEqual([])
    await db.executeAll(erasureFacts.upsert([{ erasureId, userId: randomUUID(), partition: 1, offset: 3n }]))
    await noteFacts(db, AT)
    expect(await readStores(db)).toEqual([{ store: 'user-events', rows: 2, because: null, at: AT }])
  })
})

import { eventTracked } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../test/visits-projection.ts'

const records = factsAsRecords([eventTracked({ eventName: 'First' }), eventTracked({ eventName: 'Second' })])
const visits = createVisitsProjection()
const fails = (error: Error) => async () => {
  throw error
}
const bug = new TypeError('a bug')
const away = new Error('Connection terminated unexpectedly')

describe('a partition fold', () => {
  it('says where a bug is, whether it shows in loading, in writing or in a tick', async () => {
    const { db } = await givenVisitsDatabase()
    const foldFailed = { code: 'FOLD_FAILED', retryable: false, message: expect.stringContaining('user-events/0') }
    const loading = await givenVisitsFold(db, { ...visits, load: fails(bug) })
    await expect(loading.fold(batchOf(records))).rejects.toMatchObject({ ...foldFailed, cause: bug })
    const writing = await givenVisitsFold(db, { ...visits, save: () => [sql`SELECT 1 / 0`] })
    await expect(writing.fold(batchOf(records))).rejects.toMatchObject(foldFailed)
    const ticking = await givenVisitsFold(db, { ...visits, tick: fails(bug) })
    await expect(ticking.tick(new Date())).rejects.toMatchObject({ ...foldFailed, cause: bug })
    expect(await countVisits(db)).toBe(0)
  })

  it('takes no database that is away for a bug', async () => {
    const { db } = await givenVisitsDatabase()
    const loading = await givenVisitsFold(db, { ...visits, load: fails(away) })
    await expect(loading.fold(batchOf(records))).rejects.toBe(away)
    const ticking = await givenVisitsFold(db, { ...visits, tick: fails(away) })
    await expect(ticking.tick(new Date())).rejects.toBe(away)
  })

  it('does not go on without its checkpoint', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    await fold.fold(batchOf(records, 0, 1))
    await db.$executeRaw(sql`DELETE FROM checkpoints`)
    expect(await fold.fold(batchOf(records, 1))).toEqual({ outcome: 'stale' })
    await expect(fold.fold(batchOf(records, 1))).rejects.toThrow('has no checkpoint of user-events/0')
    expect(await countVisits(db)).toBe(1)
  })

  it.each([-1, 8.64e15 + 1, Number.NaN, 2 ** 63])('folds a record whose time is %d', async (timestampMs) => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    const [sound, poison] = records.map((record) => ({ ...record, timestampMs }))
    if (!sound || !poison) throw new Error('two records')
    const batch = batchOf([sound, { ...poison, value: null }])
    expect(await fold.fold(batch)).toMatchObject({ records: 1, deadLetters: 1 })
  })
})

import { eventTracked } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'

const records = factsAsRecords([eventTracked({ eventName: 'First' }), eventTracked({ eventName: 'Second' })])
const visits = createVisitsProjection()
const fails = (error: Error) => async () => {
  throw error
}
const bug = new TypeError('a bug')
const away = new Error('Connection terminated unexpectedly')

describe('a partition fold', () => {
  it('names the place of a bug in loading, in writing or in a tick', async () => {
    const { db } = await givenVisitsDatabase()
    const foldFailed = { code: 'FOLD_FAILED', retryable: false, message: expect.stringContaining('user-events/0') }
    const record = { offset: 0n, id: records[0]?.headers['ce_id'] }
    const loading = await givenVisitsFold(db, { ...visits, load: fails(bug) })
    await expect(loading.fold(batchOf(records))).rejects.toMatchObject({ ...foldFailed, cause: bug, record })
    const writing = await givenVisitsFold(db, { ...visits, save: () => ({ statements: [sql`SELECT 1 / 0`] }) })
    await expect(writing.fold(batchOf(records))).rejects.toMatchObject({ ...foldFailed, record })
    const ticking = await givenVisitsFold(db, { ...visits, ticks: { ...visits.ticks, tick: fails(bug) } })
    await expect(ticking.tick(new Date())).rejects.toMatchObject({ ...foldFailed, cause: bug })
    expect(await countVisits(db)).toBe(0)
  })

  it('does not report an unavailable database as a bug', async () => {
    const { db } = await givenVisitsDatabase()
    const loading = await givenVisitsFold(db, { ...visits, load: fails(away) })
    await expect(loading.fold(batchOf(records))).rejects.toBe(away)
    const ticking = await givenVisitsFold(db, { ...visits, ticks: { ...visits.ticks, tick: fails(away) } })
    await expect(ticking.tick(new Date())).rejects.toBe(away)
  })

  it.each([0, 1, 499, 500, 700, 999])('commits the records before record %i of 1,000, and names it', async (bad) => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    const names = Array.from({ length: 1_000 }, (_, index) => (index === bad ? 'A bug' : 'Fine'))
    const batch = batchOf(factsAsRecords(names.map((eventName) => eventTracked({ eventName }))))
    const before = bad === 0 ? { records: 0 } : await fold.fold(batch)
    expect(before).toMatchObject({ records: bad })
    expect(await countVisits(db)).toBe(bad)
    expect(fold.checkpoint().nextOffset).toBe(BigInt(bad))
    const error = { code: 'FOLD_FAILED', record: { offset: BigInt(bad), id: batch.records[bad]?.headers['ce_id'] } }
    await expect(fold.fold(batch)).rejects.toMatchObject(error)
    fold.makeDeadLetter(BigInt(bad), 'set aside', { isBatch: false })
    expect(await fold.fold(batch)).toMatchObject({ records: 999 - bad, deadLetters: 1 })
    expect(await countVisits(db)).toBe(999)
    expect(await db.$queryRaw(sql`SELECT "offset", reason FROM dead_letters`)).toEqual([
      { offset: BigInt(bad), reason: 'set aside' },
    ])
  })

  it('commits the records before a record that has to wait', async () => {
    const { db } = await givenVisitsDatabase()
    const behind = Object.assign(new Error('The catalog is behind'), { code: 'CATALOG_BEHIND', retryable: true })
    const load: typeof visits.load = async (own, batch, context) => {
      if (batch.some(({ offset }) => offset === 7n)) throw behind
      return visits.load(own, batch, context)
    }
    const fold = await givenVisitsFold(db, { ...visits, load })
    const batch = batchOf(factsAsRecords(Array.from({ length: 10 }, () => eventTracked())))
    expect(await fold.fold(batch)).toMatchObject({ records: 7 })
    await expect(fold.fold(batch)).rejects.toBe(behind)
    expect(await countVisits(db)).toBe(7)
  })

  it('folds a batch in parts if Postgres takes too long for the whole', async () => {
    const { db } = await givenVisitsDatabase()
    const load: typeof visits.load = async (own, batch, context) => {
      if (batch.length > 3) await own.$executeRaw(sql`DO 'BEGIN RAISE SQLSTATE ''57014''; END'`)
      return visits.load(own, batch, context)
    }
    const fold = await givenVisitsFold(db, { ...visits, load })
    const slow = await fold.fold(batchOf(factsAsRecords(Array.from({ length: 10 }, () => eventTracked()))))
    expect(slow).toMatchObject({ records: 10 })
  })

  it('does not continue without its checkpoint', async () => {
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

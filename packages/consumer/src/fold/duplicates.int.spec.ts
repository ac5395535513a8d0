import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { EventTracked, UserFact } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { batchesOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'
import type { FoldMode, Recorded } from '../core/projection.ts'
import { createPartitionFold } from '../partition/partition-fold.ts'

const RECEIVED_MS = Date.parse('2026-11-02T10:00:00.000Z')
const DAY_MS = 24 * 3_600_000

/** Records of the same request with an `Idempotency-Key`, received with these delays after the first. */
function duplicatesAfter(...delaysMs: number[]): EventTracked[] {
  const first = eventTracked({ keyed: true })
  return delaysMs.map((delayMs) => ({ ...first, received: new Date(RECEIVED_MS + delayMs).toISOString() }))
}

async function countFolded(facts: readonly EventTracked[], batchRecords: number): Promise<number> {
  const { db } = await givenVisitsDatabase()
  const fold = await givenVisitsFold(db)
  for (const batch of batchesOf(factsAsRecords(facts), batchRecords)) await fold.fold(batch)
  return countVisits(db)
}

describe.each([1, 10])('the ledger of idempotent records, in batches of %i', (batchRecords) => {
  it('drops a duplicate less than 24 h younger, and folds one of 24 h as a record of its own', async () => {
    expect(await countFolded(duplicatesAfter(0, 1, DAY_MS - 1), batchRecords)).toBe(1)
    expect(await countFolded(duplicatesAfter(0, DAY_MS), batchRecords)).toBe(2)
  })

  it('measures from the duplicate that was folded, not from one that was dropped', async () => {
    expect(await countFolded(duplicatesAfter(0, DAY_MS - 1, DAY_MS, 2 * DAY_MS - 1), batchRecords)).toBe(2)
  })

  it('recognizes a duplicate that a gateway with a slow clock received', async () => {
    expect(await countFolded(duplicatesAfter(0, -5_000), batchRecords)).toBe(1)
  })

  it('drops every duplicate of an imported record, however late, and still prunes the others by their own clock', async () => {
    const importedOnce = (...delaysMs: number[]) =>
      duplicatesAfter(...delaysMs).map((fact) => ({ ...fact, imported: true as const }))
    const [imported, ...duplicates] = importedOnce(0, DAY_MS, 100 * DAY_MS)
    const [keyed, itsDuplicate] = duplicatesAfter(50 * DAY_MS, 50 * DAY_MS + 1)
    const facts = [imported, duplicatesAfter(0), keyed, importedOnce(0), duplicates, itsDuplicate].flat()
    expect(
      await countFolded(
        facts.filter((fact) => fact !== undefined),
        batchRecords,
      ),
    ).toBe(4)
  })

  it('drops a record that is remembered forever if any record with its id is known', async () => {
    const [first, second] = duplicatesAfter(0, DAY_MS)
    expect(await countFolded([first!, { ...second!, imported: true }], batchRecords)).toBe(1)
  })

  it('ignores records without a key', async () => {
    const fact = eventTracked({ keyed: false })
    expect(await countFolded([fact, fact], batchRecords)).toBe(2)
  })

  it('prunes only rows that no duplicate can match any more', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    const facts = [duplicatesAfter(0), duplicatesAfter(DAY_MS), duplicatesAfter(2 * DAY_MS + 1)].flat()
    for (const batch of batchesOf(factsAsRecords(facts), 1)) await fold.fold(batch)
    const kept = await db.$queryRaw<{ record_id: string }[]>(
      sql`SELECT record_id FROM idempotent_records ORDER BY received`,
    )
    expect(kept.map((row) => row.record_id)).toEqual(facts.slice(1).map(({ id }) => id))
  })

  it('prunes the rows of a quiet weekend over many commits, the oldest first, because one alone would take too long', async () => {
    const { db } = await givenVisitsDatabase()
    const fold = await givenVisitsFold(db)
    await db.$executeRaw(sql`
      INSERT INTO idempotent_records
      SELECT gen_random_uuid(), 0, ${new Date(RECEIVED_MS).toISOString()}::timestamptz + second * interval '1 second'
      FROM generate_series(1, 1000) AS second`)
    const countOld = async () => {
      const rows = await db.$queryRaw<{ old: bigint; first: Date | null }[]>(sql`
        SELECT count(*) AS old, min(received) AS first FROM idempotent_records
        WHERE received < ${new Date(RECEIVED_MS + DAY_MS).toISOString()}::timestamptz`)
      return rows[0]
    }
    const facts = Array.from({ length: 10 }, () => duplicatesAfter(7 * DAY_MS)).flat()
    const [first, ...others] = batchesOf(factsAsRecords(facts), 1)
    await fold.fold(first!)
    expect(await countOld()).toEqual({ old: 900n, first: new Date(RECEIVED_MS + 101_000) })
    for (const batch of others) await fold.fold(batch)
    expect(await countOld()).toEqual({ old: 0n, first: null })
  })
})

describe.each([1, 10])('duplicates that were dropped, in batches of %i', (batchRecords) => {
  type OnDuplicates = (db: Db, duplicates: readonly Recorded<UserFact>[]) => Promise<void>

  async function foldDuplicates(onDuplicates: OnDuplicates, mode: FoldMode = 'live'): Promise<Db> {
    const { db } = await givenVisitsDatabase()
    const visits = createVisitsProjection()
    const projection: typeof visits = {
      ...visits,
      afterCommit: (own, _draft, { duplicates }) => onDuplicates(own, duplicates),
    }
    const own = { topic: 'user-events', partition: 0, catalog: staticCatalog([]), serviceVersion: 'test' }
    const fold = createPartitionFold({ projection, db, ...own, mode })
    await fold.open()
    const records = factsAsRecords(duplicatesAfter(0, 1), { replyTo: 'a-gateway' })
    for (const batch of batchesOf(records, batchRecords)) await fold.fold(batch)
    return db
  }

  it('are reported after the commit, with the waiting gateways', async () => {
    const reported: unknown[] = []
    await foldDuplicates(async (db, duplicates) => {
      for (const { offset, replyTo } of duplicates) reported.push({ offset, replyTo, folded: await countVisits(db) })
    })
    expect(reported).toEqual([{ offset: 1n, replyTo: 'a-gateway', folded: 1 }])
  })

  it('are not reported in a rebuild', async () => {
    const reported: unknown[] = []
    await foldDuplicates(async (_db, duplicates) => void reported.push(...duplicates), 'rebuild')
    expect(reported).toEqual([])
  })

  it('do not fail a batch if reporting them fails', async () => {
    const db = await foldDuplicates(() => Promise.reject(new Error('Redis is unavailable')))
    expect(await countVisits(db)).toBe(1)
  })
})

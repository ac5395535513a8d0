import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, sql, type Sql } from '@nextvisit/database'
import type { FetchedBatch } from '@nextvisit/log'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'

const [sound, unreadable] = factsAsRecords([eventTracked(), eventTracked()])
const instant = new Date('2026-11-02T10:00:00.000Z')

/** A record that is folded, and one that becomes a dead letter. */
function givenBatch() {
  if (!sound || !unreadable) throw new Error('two records')
  return batchOf([sound, { ...unreadable, value: Buffer.from('{') }])
}

/** One more record, at the checkpoint. */
function followingBatch(offset: bigint): FetchedBatch {
  const batch = batchOf(sound ? [{ ...sound, offset }] : [])
  return { ...batch, fetchedFrom: offset, nextOffset: offset + 1n }
}

/** An operator mends the letter, or does not, and wants it retried. */
async function retry(db: Db, eventName?: string): Promise<void> {
  const value = eventName === undefined ? '{' : JSON.stringify(eventTracked({ eventName }))
  await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry', value = convert_to(${value}, 'UTF8')`)
}

const readTicks = (db: Db) =>
  db.$queryRaw(sql`SELECT count FROM visits WHERE user_id = '00000000-0000-4000-8000-000000000000'`)
const readStates = (db: Db) => db.$queryRaw(sql`SELECT state FROM dead_letters`)

describe('a commit', () => {
  it('begins with the fence if it is of a batch, a tick, a successful or a failed retry', async () => {
    const { db } = await givenVisitsDatabase()
    const commits: (readonly Sql[])[] = []
    const executeAll: CommitDb['executeAll'] = (statements) => {
      commits.push(statements)
      return db.executeAll(statements)
    }
    const fold = await givenVisitsFold({ ...db, executeAll })
    await fold.fold(givenBatch())
    for (const eventName of [undefined, 'A bug', 'Mended']) {
      await retry(db, eventName)
      await fold.retry()
    }
    await fold.tick(instant)
    expect(await readStates(db)).toEqual([{ state: 'retried' }])
    const fences = commits.map((statements) => statements.map(({ text }) => text.includes('advance_checkpoint')))
    expect(fences.map(([first, ...others]) => [first, others.some(Boolean)])).toEqual(
      Array.from({ length: 5 }, () => [true, false]),
    )
  })

  it('of a tick or a retry writes nothing for an owner that has lost its partition', async () => {
    const { db, openDb } = await givenVisitsDatabase()
    const [zombie, owner] = [await givenVisitsFold(openDb()), await givenVisitsFold(db)]
    const attempts = [() => zombie.tick(instant), () => zombie.retry()]
    await owner.fold(givenBatch())
    await retry(db, 'Mended')
    for (const attempt of attempts) {
      expect(await attempt()).toEqual({ outcome: 'stale' })
      await owner.fold(followingBatch(owner.checkpoint().nextOffset))
    }
    expect(await readStates(db)).toEqual([{ state: 'retry' }])
    expect(await readTicks(db)).toEqual([])
    expect(await countVisits(db)).toBe(3)
  })
})

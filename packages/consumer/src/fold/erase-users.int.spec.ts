import { randomUUID } from 'node:crypto'
import { type AnyUserFact, encodeRecord, type UserFact } from '@nextvisit/contracts'
import { eventTracked, userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, raw, sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { batchesOf, batchOf } from '@nextvisit/testing'
import { v7 as uuidV7 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import type { PartitionFold } from '../partition/partition-fold.ts'
import { answerDeadLetters } from '../dead-letters/answer-dead-letters.ts'
import { answerErasedUsers } from '../queries/answer-erased-users.ts'

const REQUESTED = '2026-11-02T10:00:00.000Z'
const ADA = { organization: 'acme', project: 'shop', userId: userIdFixture('ada') }
const keyAt = (instant: string) => uuidV7({ msecs: Date.parse(instant) })

/** An event whose properties are sealed with a key of this instant. */
function sealedAt(instant: string, fact: UserFact = eventTracked()): AnyUserFact {
  return { ...fact, sealed: { key: keyAt(instant), bytes: '' } } as AnyUserFact
}

/** Records from offset 0 with the keys that a gateway gives them. A text is a value that cannot be read, of ada. */
function recordsOf(...facts: readonly (AnyUserFact | string)[]): FetchedRecord[] {
  return facts.map((fact, index) => {
    const encoded =
      typeof fact === 'string'
        ? { value: fact, headers: { ce_id: 'secret' } }
        : encodeRecord(fact, { source: 'test', time: REQUESTED })
    return {
      topic: 'user-events',
      partition: 0,
      offset: BigInt(index),
      timestampMs: Date.parse(REQUESTED) + index,
      key: Buffer.from(typeof fact === 'string' ? ADA.userId : fact.userId),
      value: Buffer.from(encoded.value),
      headers: encoded.headers,
    }
  })
}

/** Folds batches until each is whole. */
async function foldWhole(fold: PartitionFold, records: readonly FetchedRecord[], size = records.length): Promise<void> {
  for (const batch of batchesOf(records, size)) {
    while (fold.checkpoint().nextOffset < batch.nextOffset)
      expect(await fold.fold(batch)).toMatchObject({ outcome: 'folded' })
  }
}

const readCounts = (db: Db) => db.$queryRaw(sql`SELECT user_id AS "userId", count FROM visits ORDER BY count, user_id`)
const readFenceRows = (db: Db) =>
  db.$queryRaw(sql`SELECT user_id AS "userId", partition, "offset"::int, rows::int FROM erased_users ORDER BY 1`)
const readLetters = (db: Db) =>
  db.$queryRaw(
    sql`SELECT "offset"::int, state, reason, convert_from(value, 'UTF8') AS value, headers FROM dead_letters ORDER BY "offset"`,
  )

async function readErased(db: Db, offset: number, erasureId: string = randomUUID()) {
  const { readErasedUsers } = answerErasedUsers({ name: 'visits', topic: 'user-events' }, db)
  const answer = await readErasedUsers({ users: [{ ...ADA, erasureId, offset: String(offset) }] }, undefined as never)
  return typeof answer === 'object' ? answer.users[0] : answer
}

/** Copies every table, and returns a function that puts the copies back, as a restored backup does. */
async function backUp(db: Db): Promise<() => Promise<void>> {
  const tables = await db.$queryRaw<{ name: string }[]>(
    sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`,
  )
  const names = tables.map(({ name }) => name)
  for (const name of names) await db.$executeRaw(raw(`CREATE TABLE backup_${name} AS TABLE ${name}`))
  return async () => {
    await db.$executeRaw(raw(`TRUNCATE ${names.join()}`))
    for (const name of names)
      await db.$executeRaw(raw(`INSERT INTO ${name} OVERRIDING SYSTEM VALUE TABLE backup_${name}`))
  }
}

async function givenFold(): Promise<{ readonly db: CommitDb; readonly fold: PartitionFold }> {
  const { db } = await givenVisitsDatabase()
  return { db, fold: await givenVisitsFold(db) }
}

describe('an erasure', () => {
  it.each([1, 2, 3, 100])('deletes the rows of its user, and none of later records, in batches of %i', async (size) => {
    const { db, fold } = await givenFold()
    const bob = eventTracked({ userName: 'bob' })
    const records = recordsOf(eventTracked(), bob, eventTracked(), userErased(), bob, eventTracked(), bob)
    await foldWhole(fold, records, size)
    expect(await readCounts(db)).toEqual([
      { userId: ADA.userId, count: 1 },
      { userId: bob.userId, count: 3 },
    ])
    expect(await readFenceRows(db)).toMatchObject([{ userId: ADA.userId, partition: 0, offset: 3 }])
  })

  it('ends a batch before the next record of its user, so that no row that was read before comes back', async () => {
    const { db, fold } = await givenFold()
    const records = recordsOf(eventTracked(), userErased(), eventTracked({ userName: 'bob' }), eventTracked())
    await fold.fold(batchOf(records, 0, 1))
    expect(await fold.fold(batchOf(records, 1))).toMatchObject({ outcome: 'folded' })
    expect(fold.checkpoint().nextOffset).toBe(3n)
    expect(await readFenceRows(db)).toEqual([{ userId: ADA.userId, partition: 0, offset: 1, rows: 1 }])
    await foldWhole(fold, records)
    expect(await readCounts(db)).toHaveLength(2)
  })

  it('covers later records that an older key has sealed, but counts them', async () => {
    const { db, fold } = await givenFold()
    const fence = userErased({ received: REQUESTED, keysUntil: '2026-11-02T10:01:00.000Z' })
    const keyed = eventTracked({ keyed: true })
    const records = recordsOf(
      fence,
      sealedAt('2026-11-02T10:00:30.000Z'),
      sealedAt('2026-11-02T09:00:00.000Z', keyed),
      sealedAt('2026-11-02T10:01:00.001Z'),
    )
    await foldWhole(fold, records)
    expect(await readCounts(db)).toEqual([{ userId: ADA.userId, count: 1 }])
    const seen = await db.$queryRaw<{ id: string }[]>(sql`SELECT record_id AS id FROM idempotent_records`)
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set([fence.id, keyed.id]))
  })

  it('is known although its partition has more erased users than fit in memory', async () => {
    const { db } = await givenFold()
    await db.$executeRaw(sql`
      INSERT INTO erased_users (organization, project, user_id, partition, "offset", keys_until, erasure_id)
      SELECT 'acme', 'shop', gen_random_uuid(), 0, 0, now(), gen_random_uuid() FROM generate_series(1, 10001)`)
    await db.$executeRaw(sql`
      INSERT INTO erased_users (organization, project, user_id, partition, "offset", keys_until, erasure_id)
      VALUES ('acme', 'shop', ${ADA.userId}::uuid, 0, 100, now(), gen_random_uuid())`)
    const bob = eventTracked({ userName: 'bob' })
    await foldWhole(await givenVisitsFold(db), recordsOf(eventTracked(), bob))
    expect(await readCounts(db)).toEqual([{ userId: bob.userId, count: 1 }])
  })

  it('is known to an owner that had lost its partition to another', async () => {
    const { db, fold } = await givenFold()
    const other = await givenVisitsFold(db)
    const fence = userErased({ received: REQUESTED })
    const records = recordsOf(eventTracked({ userName: 'bob' }), fence, sealedAt('2026-11-02T10:00:30.000Z'))
    await fold.fold(batchOf(records, 0, 1))
    await other.open()
    await foldWhole(other, records.slice(0, 2), 2)
    expect(await fold.fold(batchOf(records, 1))).toMatchObject({ outcome: 'stale' })
    await foldWhole(fold, records)
    expect(await readCounts(db)).toEqual([{ userId: userIdFixture('bob'), count: 1 }])
  })

  it('that comes a second time does nothing', async () => {
    const { db, fold } = await givenFold()
    const [first, second] = [userErased(), userErased({ received: '2026-11-02T11:00:00.000Z' })]
    await foldWhole(fold, recordsOf(first, eventTracked(), second, eventTracked(), first, second, eventTracked()), 2)
    expect(await readCounts(db)).toEqual([{ userId: ADA.userId, count: 2 }])
    expect(await readFenceRows(db)).toMatchObject([{ offset: 2 }])
  })

  it('deletes the rows of a restored backup again', async () => {
    const { db, fold } = await givenFold()
    const bob = eventTracked({ userName: 'bob' })
    const records = recordsOf(eventTracked(), 'secret of ada', bob, userErased(), bob)
    await foldWhole(fold, records.slice(0, 3))
    const restore = await backUp(db)
    await foldWhole(fold, records)
    const after = [await readCounts(db), await readFenceRows(db), await readLetters(db)]
    await restore()
    expect(await readCounts(db)).toHaveLength(2)
    expect(await readLetters(db)).toMatchObject([{ value: 'secret of ada' }])
    await foldWhole(await givenVisitsFold(db), records)
    expect([await readCounts(db), await readFenceRows(db), await readLetters(db)]).toEqual(after)
    expect(await readCounts(db)).toEqual([{ userId: bob.userId, count: 2 }])
  })

  it('takes the bytes from dead letters of its user, and ends the wait for a decision', async () => {
    const { db, fold } = await givenFold()
    await fold.fold(batchOf(recordsOf('{"a', '{"b', '{"c', '{"d'), 0, 4))
    for (const [offset, state] of ['dead', 'retry', 'retried', 'discarded'].entries())
      await db.$executeRaw(sql`UPDATE dead_letters SET state = ${state} WHERE "offset" = ${offset}`)
    const records = recordsOf('', '', '', '', '{"e', userErased(), '{"f')
    await foldWhole(fold, records)
    const gone = { value: null, headers: {}, reason: 'the user was erased, and this record with it' }
    expect(await readLetters(db)).toMatchObject([
      { state: 'discarded', ...gone },
      { state: 'discarded', ...gone },
      { state: 'retried', ...gone },
      { state: 'discarded', ...gone },
      { state: 'discarded', ...gone },
      { state: 'dead', value: '{"f', headers: { ce_id: 'secret' } },
    ])
    const letters = answerDeadLetters('visits', db)
    const letter = [{ topic: 'user-events', partition: 0, offset: '0' }]
    const asked = { selected: { by: 'records', records: letter }, by: 'ada', continues: null } as const
    expect(await letters.decide({ ...asked, decision: 'retry' }, undefined as never)).toMatchObject({ count: 0 })
  })

  it('refuses the retry of a dead letter that it covers', async () => {
    const { db, fold } = await givenFold()
    const [poison] = recordsOf('{"a')
    if (!poison) throw new Error('a record')
    // Another program wrote it under another key.
    const records = [{ ...poison, key: null }, ...recordsOf('', userErased()).slice(1)]
    await foldWhole(fold, records)
    await db.$executeRaw(sql`
      UPDATE dead_letters SET state = 'retry', value = convert_to(${JSON.stringify(eventTracked())}, 'UTF8'),
        headers = '{"schema-version": "2"}'`)
    await fold.retry()
    expect(await readLetters(db)).toMatchObject([{ state: 'discarded', reason: /erased/ }])
    expect(await readCounts(db)).toEqual([])
  })

  it('deletes alarms that its partition has passed, and the keys that it covers', async () => {
    const { db, fold } = await givenFold()
    const keys = [randomUUID(), keyAt('2026-11-02T10:00:59.999Z'), keyAt('2026-11-02T10:01:00.000Z')]
    const later = keyAt('2026-11-02T10:01:00.001Z')
    for (const key of [...keys, later])
      await db.$executeRaw(sql`INSERT INTO user_keys VALUES (${ADA.userId}::uuid, ${key}::uuid, 'wrapped', 0)`)
    await db.$executeRaw(sql`
      INSERT INTO partition_alarms (projection, topic, partition, kind, "offset", code, message)
      VALUES ('visits', 'user-events', 0, 'halted', 0, 'FOLD_FAILED', 'it quotes ada')`)
    await foldWhole(fold, recordsOf(eventTracked(), userErased({ received: REQUESTED })))
    expect(await db.$queryRaw(sql`SELECT FROM partition_alarms`)).toEqual([])
    expect(await db.$queryRaw(sql`SELECT key_id AS id FROM user_keys`)).toEqual([{ id: later }])
  })
})

describe('the answer about erased users', () => {
  it('says that an erasure is passed once it is folded and its keys are gone, by the offset of any copy', async () => {
    const { db, fold } = await givenFold()
    const fence = userErased({ received: REQUESTED })
    const records = recordsOf(eventTracked(), fence, eventTracked({ userName: 'bob' }), fence)
    await foldWhole(fold, records.slice(0, 1))
    expect(await readErased(db, 1)).toEqual({ userId: ADA.userId, isPassed: false, rows: 0, fenceOffset: null })
    await fold.fold(batchOf(records, 1, 3))
    expect(await readErased(db, 1)).toEqual({ userId: ADA.userId, isPassed: true, rows: 1, fenceOffset: null })
    expect(await readErased(db, 3)).toMatchObject({ isPassed: false })
    await foldWhole(fold, records)
    expect(await readErased(db, 3)).toMatchObject({ isPassed: true, rows: 1 })
    await db.$executeRaw(sql`INSERT INTO user_keys VALUES (${ADA.userId}::uuid, ${keyAt(REQUESTED)}::uuid, 'again', 0)`)
    expect(await readErased(db, 1)).toMatchObject({ isPassed: false })
  })

  it('names the place of the first copy, until the user is erased again', async () => {
    const { db, fold } = await givenFold()
    const [first, second] = [userErased({ received: REQUESTED }), userErased({ received: REQUESTED })]
    const records = recordsOf(eventTracked(), first, first, second)
    await foldWhole(fold, records.slice(0, 1))
    expect(await readErased(db, 2, first.erasureId)).toMatchObject({ fenceOffset: null })
    await foldWhole(fold, records.slice(0, 3))
    expect(await readErased(db, 2, first.erasureId)).toMatchObject({ isPassed: true, fenceOffset: '1' })
    expect(await readErased(db, 3, second.erasureId)).toMatchObject({ fenceOffset: null })
    await foldWhole(fold, records)
    expect(await readErased(db, 2, first.erasureId)).toMatchObject({ isPassed: true, fenceOffset: null })
    expect(await readErased(db, 3, second.erasureId)).toMatchObject({ fenceOffset: '3' })
  })

  it('says that an erasure which is a dead letter is not passed', async () => {
    const { db, fold } = await givenFold()
    await foldWhole(fold, recordsOf(userErased(), '{"type":"UserErased'))
    expect(await readErased(db, 0)).toMatchObject({ isPassed: true })
    expect(await readErased(db, 1)).toMatchObject({ isPassed: false })
  })
})

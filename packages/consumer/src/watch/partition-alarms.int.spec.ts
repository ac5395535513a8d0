import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase, givenVisitsFold } from '../../test/given-visits.ts'
import type { PartitionAlarm } from '../partition/partition-progress.ts'
import { endAlarms, raiseAlarm, readSetAside } from './partition-alarms.ts'

const KEY = { projection: 'visits', topic: 'user-events', partition: 0 }
const MINUTE_MS = 60_000
const halt: PartitionAlarm = {
  kind: 'halted',
  offset: 2n,
  recordId: 'r',
  code: 'FOLD_FAILED',
  message: 'TypeError: a bug',
  sinceMs: Date.UTC(2026, 10, 2, 10),
}

/** Two records are folded. */
async function given() {
  const { db } = await givenVisitsDatabase()
  const fold = await givenVisitsFold(db)
  await fold.fold(batchOf(factsAsRecords([eventTracked(), eventTracked()])))
  return db
}

const readAlarms = (db: Db) => db.$queryRaw(sql`SELECT kind, "offset", code, since FROM partition_alarms ORDER BY kind`)
const ask = (db: Db) => db.$executeRaw(sql`UPDATE partition_alarms SET set_aside_by = 'ops', set_aside_at = now()`)

describe('the alarms of a partition', () => {
  it('are not written by an owner that another owner has overtaken', async () => {
    const db = await given()
    await raiseAlarm(db, KEY, { ...halt, offset: 1n })
    expect(await readAlarms(db)).toEqual([])
    await raiseAlarm(db, KEY, halt)
    await raiseAlarm(db, KEY, { ...halt, offset: 1n })
    expect(await readAlarms(db)).toMatchObject([{ offset: 2n }])
  })

  it('keep their beginning, and the request of an operator, only while the offset stays the same', async () => {
    const db = await given()
    await raiseAlarm(db, KEY, halt)
    await ask(db)
    await raiseAlarm(db, KEY, { ...halt, sinceMs: halt.sinceMs + MINUTE_MS })
    expect(await readAlarms(db)).toMatchObject([{ since: new Date(halt.sinceMs) }])
    expect(await readSetAside(db, KEY, [0])).toEqual([{ partition: 0, offset: 2n, by: 'ops' }])
    expect(await readSetAside(db, KEY, [1])).toEqual([])
    await raiseAlarm(db, KEY, { ...halt, offset: 3n, sinceMs: halt.sinceMs + MINUTE_MS })
    expect(await readAlarms(db)).toMatchObject([{ offset: 3n, since: new Date(halt.sinceMs + MINUTE_MS) }])
    expect(await readSetAside(db, KEY, [0])).toEqual([])
  })

  it('end with the condition that they report, while the others continue', async () => {
    const db = await given()
    await raiseAlarm(db, KEY, halt)
    await raiseAlarm(db, KEY, { ...halt, kind: 'ticks', code: '57014' })
    await endAlarms(db, KEY, 'ticks')
    await endAlarms(db, KEY, { openedBefore: 3n })
    expect(await readAlarms(db)).toMatchObject([{ kind: 'halted' }])
    await raiseAlarm(db, KEY, { ...halt, recordId: undefined, code: 'CHECKPOINT_OUTSIDE_LOG' })
    await endAlarms(db, KEY, { openedBefore: 3n })
    expect(await readAlarms(db)).toEqual([])
  })

  it('end when the partition is opened if they report a stall at the end of the log', async () => {
    const db = await given()
    await raiseAlarm(db, KEY, { ...halt, kind: 'stalled', code: '57014' })
    await endAlarms(db, KEY, { openedBefore: halt.offset + 1n })
    expect(await readAlarms(db)).toMatchObject([{ kind: 'stalled' }])
    await endAlarms(db, KEY, { openedBefore: halt.offset })
    expect(await readAlarms(db)).toEqual([])
  })
})

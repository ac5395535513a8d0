import { setTimeout as sleep } from 'node:timers/promises'
import { type CommitDb, type Db, sql } from '@nextvisit/database'
import { readLog, createPublisher, type Publisher } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { produceApiKey } from '@nextvisit/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { givenFaultProxy, givenLog, type GivenLog } from '../../test/given-log.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { createOutboxDrain, type NotePublished } from './outbox-drain.ts'
import { insertOutbox } from './outbox.ts'

const PLANNED_MS = 100

const partitionOf = async () => 0

async function givenOutbox(
  db: CommitDb,
  { topic }: GivenLog,
  partition: number,
  values: readonly string[],
): Promise<void> {
  const rows = values.map((value) => ({
    partition,
    topic: `${topic}.out`,
    key: 'ada',
    value,
    headers: { size: String(value.length) },
  }))
  await db.executeAll(insertOutbox(rows))
}

function givenDrain(
  db: CommitDb,
  publisher: Publisher,
  owned: readonly number[] = [0],
  drainAfterMs = 0,
  note?: NotePublished,
  pauseMs?: number,
) {
  const logger = createLogger('spec', 'silent')
  const stopping = new AbortController()
  const { signal } = stopping
  const outbox = createOutboxDrain({
    db,
    publisher,
    logger,
    owned: () => owned,
    partitionOf,
    notePublished: note,
    drainAfterMs,
    pauseMs,
    signal,
  })
  const stop = (): Promise<void> => {
    stopping.abort()
    return outbox.finished()
  }
  onTestFinished(stop)
  return { ...outbox, stop }
}

const notePublished: NotePublished = (rows) =>
  rows.map(({ row, offset }) => sql`INSERT INTO places VALUES (${row.value}, ${offset})`)

/** The publisher, and the maximum of its concurrent records and bytes. */
function watched(publisher: Publisher) {
  const most = { records: 0, bytes: 0 }
  const now = { records: 0, bytes: 0 }
  const count = (records: number, bytes: number) => {
    now.records += records
    now.bytes += bytes
    most.records = Math.max(most.records, now.records)
    most.bytes = Math.max(most.bytes, now.bytes)
  }
  const publish: Publisher['publish'] = async (record, deadlineAt) => {
    const bytes = record.value?.length ?? 0
    count(1, bytes)
    return publisher.publish(record, deadlineAt).finally(() => count(-1, -bytes))
  }
  return { most, publisher: { ...publisher, publish } }
}

async function readOut({ topic, connection }: GivenLog): Promise<string[]> {
  const values: string[] = []
  const onBatch = ({ records }: { records: readonly { value: Buffer | null; headers: object }[] }) => {
    for (const { value, headers } of records) {
      expect(headers).toMatchObject({ size: String(value?.length) })
      values.push(String(value))
    }
  }
  await readLog(connection, { topic: `${topic}.out`, from: new Map([[0, 0n]]), onBatch, until: 'end' })
  return values
}

async function readLeft(db: Db): Promise<string[]> {
  const rows = await db.$queryRaw<{ value: string }[]>(sql`SELECT value FROM outbox ORDER BY sequence`)
  return rows.map(({ value }) => value)
}

/** The values without later duplicates, which readers drop. */
const firstOf = (values: readonly string[]): readonly string[] => [...new Set(values)]

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

describe('the outbox', () => {
  it('is published in order and emptied, even if it is long and many drains are requested', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(350))
    let meanwhile: Promise<void> | undefined
    const publish: Publisher['publish'] = (record, deadlineAt) => {
      meanwhile ??= drain()
      return log.publisher.publish(record, deadlineAt)
    }
    const { drain } = givenDrain(db, { ...log.publisher, publish })
    await Promise.all([drain(), drain(), drain()])
    await meanwhile
    expect(await readOut(log)).toEqual(numbers(350))
    expect(await readLeft(db)).toEqual([])
  })

  it('publishes no more rows at once than fit into one request, because the first of two may fail', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const large = numbers(10).map((number) => number.repeat(200_000))
    await givenOutbox(db, log, 0, [...large, ...numbers(250)])
    const { most, publisher } = watched(log.publisher)
    await givenDrain(db, publisher).drain()
    expect(await readLeft(db)).toEqual([])
    // A row that begins before the limit is among them.
    expect(most).toEqual({ records: 100, bytes: 600_000 })
  })

  it('leaves room for records of others after each full request if it shall pause, and continues by itself', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    // 1,000 users of one project, whom the user eraser erases.
    await givenOutbox(db, log, 0, numbers(1_000))
    await givenDrain(db, log.publisher, [0], 0, undefined, PLANNED_MS).drain()
    expect(await readLeft(db)).toEqual(numbers(1_000).slice(100))
    const record = { topic: `${log.topic}.out`, partition: 0, key: 'bob', value: 'other', headers: { size: '5' } }
    await log.publisher.publish(record, performance.now() + 5_000)
    await vi.waitFor(async () => expect(await readLeft(db)).toEqual([]), { timeout: 20_000 })
    const out = await readOut(log)
    expect(out.filter((value) => value !== 'other')).toEqual(numbers(1_000))
    // Without pauses, a fold of this record waits for those of all users.
    expect(out.indexOf('other')).toBeLessThan(1_000)
  })

  it('keeps unpublished rows, and all rows behind them, until the next drain', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const values = ['0', '1', 'x'.repeat(2_000), '3', '4']
    await givenOutbox(db, log, 0, values)
    const narrow = createPublisher(log.connection, { maxQueuedBytes: 1_000 })
    await narrow.start()
    onTestFinished(() => narrow.stop(1_000))
    await givenDrain(db, narrow).drain()
    expect(await readOut(log)).toEqual(['0', '1'])
    expect(await readLeft(db)).toEqual(values.slice(2))
    await givenDrain(db, log.publisher).drain()
    expect(await readOut(log)).toEqual(values)
    expect(await readLeft(db)).toEqual([])
  })

  it('is drained again by itself after rows could not be published', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, ['x'.repeat(2_000), '1'])
    const narrow = createPublisher(log.connection, { maxQueuedBytes: 1_000 })
    await narrow.start()
    onTestFinished(() => narrow.stop(1_000))
    let current = narrow
    const publish: Publisher['publish'] = (record, deadlineAt) => current.publish(record, deadlineAt)
    await givenDrain(db, { ...log.publisher, publish }).drain()
    expect(await readLeft(db)).toHaveLength(2)
    current = log.publisher
    await vi.waitFor(async () => expect(await readLeft(db)).toEqual([]), { timeout: 10_000 })
    expect(await readOut(log)).toEqual(['x'.repeat(2_000), '1'])
  })

  it('is drained for a partition while the rows of another are refused', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const refused = ['x'.repeat(2_000), ...numbers(150)]
    await givenOutbox(db, log, 0, refused)
    await givenOutbox(db, log, 1, ['a', 'b'])
    const narrow = createPublisher(log.connection, { maxQueuedBytes: 1_000 })
    await narrow.start()
    onTestFinished(() => narrow.stop(1_000))
    await givenDrain(db, narrow, [0, 1]).drain()
    expect(await readOut(log)).toEqual(['a', 'b'])
    expect(await readLeft(db)).toEqual(refused)
  })

  it('keeps all rows behind one with an unknown outcome', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const values = numbers(10).map((number) => number.repeat(200_000))
    await givenOutbox(db, log, 0, values)
    let requests = 0
    const { proxy, connection } = await givenFaultProxy(log.connection)
    proxy.onResponse(({ apiKey }) => (apiKey === produceApiKey && ++requests === 2 ? 'lose' : 'pass'))
    const losing = createPublisher(connection, { requestTimeoutMs: 1_000 })
    await losing.start()
    onTestFinished(() => losing.stop(1_000))
    const { drain } = givenDrain(db, losing)
    for (let round = 0; round < 5; round++) await drain()
    const out = await readOut(log)
    expect(firstOf(out)).toEqual(values)
    expect(await readLeft(db)).toEqual([])
  })

  it('is drained only by the owner of the partition', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, ['ours'])
    await givenOutbox(db, log, 1, ['theirs'])
    await givenDrain(db, log.publisher, [0, 2]).drain()
    expect(await readOut(log)).toEqual(['ours'])
    expect(await readLeft(db)).toEqual(['theirs'])
  })

  it('is published by the next call if Postgres fails', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(3))
    const { drain } = givenDrain(db, log.publisher)
    await db.$executeRaw(sql`ALTER TABLE outbox RENAME TO unreachable`)
    await drain()
    await db.$executeRaw(sql`ALTER TABLE unreachable RENAME TO outbox`)
    await drain()
    expect(await readOut(log)).toEqual(numbers(3))
  })

  it('notes the places of published records in the transaction that deletes them', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(3))
    await db.$executeRaw(
      sql`CREATE TABLE places (value text, "offset" bigint CHECK ("offset" <> 2 OR value = 'again'))`,
    )
    await givenDrain(db, log.publisher, [0], 0, notePublished).drain()
    // The constraint refuses an offset. So no row is deleted, and none is noted.
    expect(await readLeft(db)).toEqual(numbers(3))
    expect(await db.$queryRaw(sql`SELECT FROM places`)).toEqual([])
    await givenDrain(db, log.publisher, [0], 0, notePublished).drain()
    expect(await readLeft(db)).toEqual([])
    expect(await db.$queryRaw(sql`SELECT value, "offset" FROM places ORDER BY "offset"`)).toEqual(
      numbers(3).map((value, index) => ({ value, offset: BigInt(3 + index) })),
    )
  })

  it('is left to the next owner if a drain was only planned before the stop', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(3))
    const { drainSoon, stop } = givenDrain(db, log.publisher, [0], PLANNED_MS)
    drainSoon()
    await stop()
    await sleep(3 * PLANNED_MS)
    expect(await readLeft(db)).toEqual(numbers(3))
  })

  it('is left to the next owner if it could not be published before the stop', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(3))
    let isAway = true
    const publish: Publisher['publish'] = async (record, deadlineAt) =>
      isAway ? { outcome: 'not-published', reason: 'stopped' } : log.publisher.publish(record, deadlineAt)
    const { drain, stop } = givenDrain(db, { ...log.publisher, publish })
    await drain()
    isAway = false
    await stop()
    await sleep(1_500) // it would have tried again after a second
    expect(await readLeft(db)).toEqual(numbers(3))
  })
})

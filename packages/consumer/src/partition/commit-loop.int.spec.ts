import type { EventTracked } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import type { FetchedBatch } from '@nextvisit/log'
import { batchOf, factsAsRecords, interceptCommits } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenLoopedFolds, givenVisitsDatabase } from '../../test/given-visits.ts'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import type { PartitionFold } from './partition-fold.ts'

const PARTITIONS = 4
const visits = createVisitsProjection()
const away = new Error('Connection terminated unexpectedly')

/** Every partition has a user of its own. */
const userOf = (partition: number) => `user-${partition}`

function batchIn(partition: number, ...eventNames: string[]): FetchedBatch {
  const facts = eventNames.map((eventName) => eventTracked({ userName: userOf(partition), eventName }))
  return batchOf(factsAsRecords(facts, { partition }))
}

/** A batch of one record of as many mebibytes. */
function largeBatchIn(partition: number, mebibytes: number): FetchedBatch {
  const { records, ...batch } = batchIn(partition, 'Fine')
  const padding = Buffer.alloc(mebibytes * 1024 * 1024, ' ')
  const padded = records.map((one) => ({ ...one, value: Buffer.concat([one.value ?? Buffer.from(''), padding]) }))
  return { ...batch, records: padded }
}

/** A batch of one record whose headers have as many mebibytes. */
function longHeadersIn(partition: number, mebibytes: number): FetchedBatch {
  const { records, ...batch } = batchIn(partition, 'Fine')
  const long = 'x'.repeat(mebibytes * 1024 * 1024)
  return { ...batch, records: records.map((one) => ({ ...one, headers: { ...one.headers, long } })) }
}

/** A batch for each partition: the given one, or one event `Fine`. */
function batches(own: Readonly<Record<number, FetchedBatch>> = {}): readonly FetchedBatch[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => own[partition] ?? batchIn(partition, 'Fine'))
}

/** Folds all batches at once. Returns each result, or its error. */
function foldAll(
  folds: readonly Pick<PartitionFold, 'fold'>[],
  all: readonly FetchedBatch[],
): Promise<readonly unknown[]> {
  return Promise.all(folds.map((fold, index) => fold.fold(all[index] ?? batchOf([])).catch((error: unknown) => error)))
}

async function given(projection = visits) {
  const { db, openDb } = await givenVisitsDatabase()
  const seen = { commits: 0 }
  const counting = interceptCommits(db, async (commit) => {
    seen.commits += 1
    await commit()
  })
  return { db, openDb, seen, folds: await givenLoopedFolds(counting, PARTITIONS, projection) }
}

/** Reads the counted events and the checkpoint of each partition: `1/1 0/0`. */
async function readPartitions(db: Db): Promise<string> {
  const counts = await db.$queryRaw<{ user_id: string; count: number }[]>(sql`SELECT user_id, count FROM visits`)
  const offsets = await db.$queryRaw<{ partition: number; next_offset: bigint }[]>(
    sql`SELECT partition, next_offset FROM checkpoints ORDER BY partition`,
  )
  const parts = offsets.map(({ partition, next_offset }) => {
    const { userId } = eventTracked({ userName: userOf(partition) })
    return `${counts.find((row) => row.user_id === userId)?.count ?? 0}/${next_offset}`
  })
  return parts.join(' ')
}

const folded = expect.objectContaining({ outcome: 'folded', records: 1 })

describe('a commit loop', () => {
  it('commits the ready batches of its partitions in one transaction, with all their checkpoints', async () => {
    const { db, seen, folds } = await given()
    expect(await foldAll(folds, batches())).toEqual([folded, folded, folded, folded])
    expect(seen.commits).toBe(1)
    expect(await readPartitions(db)).toBe('1/1 1/1 1/1 1/1')
  })

  it('puts batches that arrive during a commit into the next one', async () => {
    let folding: Promise<unknown> = Promise.resolve()
    const load: typeof visits.load = async (own, batch, context) => {
      if (batch.some(({ partition }) => partition === 0)) folding = foldAll(folds.slice(1), batches().slice(1))
      return visits.load(own, batch, context)
    }
    const { db, seen, folds } = await given({ ...visits, load })
    await folds[0]?.fold(batchIn(0, 'Fine'))
    await folding
    expect(seen.commits).toBe(2)
    expect(await readPartitions(db)).toBe('1/1 1/1 1/1 1/1')
  })

  it('limits the records of one commit', async () => {
    const { db, seen, folds } = await given()
    const many = Array.from({ length: PARTITIONS }, (_, partition) => batchIn(partition, ...Array(900).fill('Fine')))
    await foldAll(folds, many)
    expect(seen.commits).toBe(2)
    expect(await readPartitions(db)).toBe('900/900 900/900 900/900 900/900')
  })

  it.each([
    ['values', largeBatchIn],
    ['headers', longHeadersIn],
  ])('bounds the bytes of the %s of one commit, unless one batch alone is larger', async (_, largeIn) => {
    const { db, seen, folds } = await given()
    await foldAll(folds, [largeIn(0, 3), largeIn(1, 3), largeIn(2, 9), largeIn(3, 1)])
    expect(seen.commits).toBe(4)
    expect(await readPartitions(db)).toBe('1/1 1/1 1/1 1/1')
  })

  it('begins the next commit without waiting for the work after the last one', async () => {
    const { promise: replied, resolve: reply } = Promise.withResolvers<void>()
    let isHeld = true
    const afterCommit = async (): Promise<void> => {
      if (isHeld) await replied
    }
    const { db, folds } = await given({ ...visits, afterCommit })
    const first = folds[0]?.fold(batchIn(0, 'Fine'))
    await expect.poll(() => readPartitions(db)).toBe('1/1 0/0 0/0 0/0')
    isHeld = false
    expect(await folds[1]?.fold(batchIn(1, 'Fine'))).toEqual(folded)
    reply()
    expect(await first).toEqual(folded)
  })

  it('leaves out of the commit only the partition that another process has folded', async () => {
    const { db, openDb, seen, folds } = await given()
    const [, , other] = await givenLoopedFolds(openDb(), PARTITIONS)
    await other?.fold(batchIn(2, 'Fine', 'Fine'))
    expect(await foldAll(folds, batches())).toEqual([folded, folded, { outcome: 'stale' }, folded])
    expect(seen.commits).toBe(2)
    expect(await readPartitions(db)).toBe('1/1 1/1 2/2 1/1')
    expect(folds[2]?.checkpoint().nextOffset).toBe(2n)
  })

  it('counts every record once while two processes own the same partitions', async () => {
    const { db, openDb, folds } = await given()
    const others = await givenLoopedFolds(openDb(), PARTITIONS)
    for (let round = 0; round < 20; round++) {
      const own = batches().map((batch) => shifted(batch, round))
      const attempts = [folds, others].map((owner, index) =>
        foldAll(
          owner.filter((_fold, partition) => (partition + round) % 3 !== index),
          own.filter((_batch, partition) => (partition + round) % 3 !== index),
        ),
      )
      await Promise.all(attempts)
      await foldAll(folds, own)
      await foldAll(folds, own)
      await foldAll(others, own)
      await foldAll(others, own)
    }
    expect(await readPartitions(db)).toBe('20/20 20/20 20/20 20/20')
  })

  it('commits all records before the one that the fold throws for, and names that one', async () => {
    const { db, folds } = await given()
    const [, , outcome, failed] = await foldAll(
      folds,
      batches({ 2: batchIn(2, 'Fine', 'Fine', 'A bug', 'Fine'), 3: batchIn(3, 'A bug', 'Fine') }),
    )
    expect(outcome).toMatchObject({ outcome: 'folded', records: 2 })
    expect(failed).toMatchObject({
      code: 'FOLD_FAILED',
      record: { offset: 0n },
      message: expect.stringContaining('/3'),
    })
    expect(await readPartitions(db)).toBe('1/1 1/1 2/2 0/0')
  })

  it('holds up only the partition of a record that has to wait', async () => {
    const behind = Object.assign(new Error('The catalog is behind'), { code: 'CATALOG_BEHIND', retryable: true })
    const { db, folds } = await given({ ...visits, load: failingFor(1, async () => Promise.reject(behind)) })
    expect(await foldAll(folds, batches())).toEqual([folded, behind, folded, folded])
    expect(await readPartitions(db)).toBe('1/1 0/0 1/1 1/1')
  })

  it.each(['55P03', '57014'])('holds up only the partition whose rows Postgres times out on (%s)', async (state) => {
    const timeOut = (own: Db) => own.$executeRaw(sql`SELECT raise_state(${state})`)
    const { db, folds } = await given({ ...visits, load: failingFor(1, timeOut) })
    await db.$executeRaw(sql`
      CREATE FUNCTION raise_state(state text) RETURNS void LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = state; END'`)
    expect(await foldAll(folds, batches())).toEqual([folded, expect.any(Error), folded, folded])
    expect(await readPartitions(db)).toBe('1/1 0/0 1/1 1/1')
  })

  it('writes no partition while Postgres is unavailable, and does not try them one by one', async () => {
    let loads = 0
    const load = async (): Promise<never> => {
      loads += 1
      throw away
    }
    const { db, folds } = await given({ ...visits, load })
    expect(await foldAll(folds, batches())).toEqual([away, away, away, away])
    expect(loads).toBe(1)
    expect(await readPartitions(db)).toBe('0/0 0/0 0/0 0/0')
  })

  it('detects a commit whose answer was lost', async () => {
    const { db } = await givenVisitsDatabase()
    let answers = 0
    const losing = interceptCommits(db, async (commit) => {
      await commit()
      answers += 1
      if (answers === 1) throw away
    })
    const folds = await givenLoopedFolds(losing, PARTITIONS)
    expect(await foldAll(folds, batches())).toEqual([away, away, away, away])
    const [stale, nothing] = [{ outcome: 'stale' }, { outcome: 'folded', records: 0 }]
    expect(await foldAll(folds, batches())).toEqual([stale, stale, stale, stale])
    expect(await foldAll(folds, batches())).toMatchObject([nothing, nothing, nothing, nothing])
    expect(await readPartitions(db)).toBe('1/1 1/1 1/1 1/1')
  })

  it('stores outbox rows with the partitions of their records', async () => {
    const { db, folds } = await given()
    await foldAll(folds, batches({ 1: batchIn(1, 'Fine', 'Fine') }))
    const rows = await db.$queryRaw<{ partition: number; key: string }[]>(
      sql`SELECT partition, key FROM outbox ORDER BY partition`,
    )
    const keys = [0, 1, 1, 2, 3].map((partition) => ({
      partition,
      key: eventTracked({ userName: userOf(partition) }).userId,
    }))
    expect(rows).toEqual(keys)
  })

  it('returns the outcome of each partition', async () => {
    const reported: (readonly [partition: number, offset: bigint])[] = []
    const afterCommit: typeof visits.afterCommit = async (_db, _draft, { duplicates }) =>
      void reported.push(...duplicates.map(({ partition, offset }) => [partition, offset] as const))
    const { db, folds } = await given({ ...visits, afterCommit })
    const keyed: EventTracked = eventTracked({ userName: userOf(1), keyed: true })
    const [poison] = factsAsRecords([eventTracked()], { partition: 2 })
    const outcomes = await foldAll(
      folds,
      batches({
        1: batchOf(factsAsRecords([keyed, keyed], { partition: 1 })),
        2: batchOf(poison ? [{ ...poison, value: Buffer.from('{') }] : []),
      }),
    )
    const none = { outcome: 'folded', records: 1, deadLetters: 0, duplicates: 0 }
    expect(outcomes).toEqual([none, { ...none, duplicates: 1 }, { ...none, records: 0, deadLetters: 1 }, none])
    expect(reported).toEqual([[1, 1n]])
    expect(await readPartitions(db)).toBe('1/1 1/2 0/1 1/1')
    expect(await db.$queryRaw(sql`SELECT partition FROM dead_letters`)).toEqual([{ partition: 2 }])
    expect(await db.$queryRaw(sql`SELECT partition FROM idempotent_records`)).toEqual([{ partition: 1 }])
  })
})

/** The example's `load`, which fails for records of this partition. */
function failingFor(partition: number, fail: (db: Db) => Promise<unknown>): typeof visits.load {
  return async (db, batch, context) => {
    if (batch.some((record) => record.partition === partition)) await fail(db)
    return visits.load(db, batch, context)
  }
}

/** The batch, moved by as many offsets. */
function shifted(batch: FetchedBatch, by: number): FetchedBatch {
  const records = batch.records.map((record) => ({ ...record, offset: record.offset + BigInt(by) }))
  const [from, to] = [batch.fetchedFrom + BigInt(by), batch.nextOffset + BigInt(by)]
  return { ...batch, records, fetchedFrom: from, nextOffset: to, highWatermark: to }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { type AnyFact, evolveDraft, type Projection } from '@nextvisit/consumer'
import { givenEvents, givenLog, type GivenLog, partitionOf } from '@nextvisit/consumer/test/given-log.ts'
import { givenRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { countVisits, readVisits } from '@nextvisit/consumer/test/visits-projection.ts'
import type { LostOffsets } from '@nextvisit/contracts'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { type Db, sql, withClient } from '@nextvisit/database'
import { readLog, readWatermarks } from '@nextvisit/log'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { describe, expect, it } from 'vitest'
import { givenVisitsReplay } from '../../test/given-replay.ts'

const MARKER = '11111111-1111-4111-8111-111111111111'

async function countPublished({ topic, connection }: GivenLog): Promise<number> {
  let records = 0
  await readLog(connection, {
    topic: `${topic}.out`,
    from: new Map([[0, 0n]]),
    onBatch: (batch) => void (records += batch.records.length),
    until: 'end',
  })
  return records
}

async function endsOf({ topic, connection }: GivenLog): Promise<bigint> {
  return [...(await readWatermarks(connection, topic)).values()].reduce((sum, { high }) => sum + high, 0n)
}

async function offsetsOf(db: Db): Promise<bigint> {
  const [row] = await db.$queryRaw<{ sum: bigint }[]>(sql`SELECT sum(next_offset)::bigint AS sum FROM checkpoints`)
  return row?.sum ?? 0n
}

const ofAda = () => givenEvents(1, () => 'ada')

describe('a replay', () => {
  it('rebuilds, finds equal rows and swaps, while the live fold continues without a gap', async () => {
    const log = await givenLog()
    const { db, replay, asAdmin } = await givenVisitsReplay(log)
    const { onFailure } = await givenRunner(log, db, { publisher: log.publisher })
    for (let part = 0; part < 6; part++) await log.publish(givenEvents(500))
    let published = 3_000
    const stop = new AbortController()
    const load = (async () => {
      for (; !stop.signal.aborted; published += 50) {
        await log.publish(givenEvents(50))
        await sleep(100)
      }
    })()
    const { outcome, comparisons } = await replay().finally(() => stop.abort())
    await load
    expect(outcome).toBe('swapped')
    expect(comparisons).toMatchObject([
      { table: 'visits', liveRows: 20, rebuiltRows: 20, onlyLive: 0, onlyRebuilt: 0 },
      { table: 'idempotent_records', onlyLive: 0, onlyRebuilt: 0 },
      { table: 'erased_users', onlyLive: 0, onlyRebuilt: 0 },
    ])
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(published)
    expect(onFailure).not.toHaveBeenCalled()
    await expect.poll(() => countPublished(log), { timeout: 20_000 }).toBe(published)
    const schemas = await asAdmin(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'visits%'`)
    expect(schemas.rows).toEqual([{ nspname: 'visits' }])
  })

  it('keeps a batch that has passed its fence from writing to the rebuilt rows', async () => {
    const log = await givenLog()
    const { db, url, replay, asAdmin } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(40))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(40)
    await runner.stop()
    await log.publish(givenEvents(1, () => 'ada'))
    await withClient(url, async (zombie) => {
      await zombie.query('SET search_path TO visits')
      const locks = `
        SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE datname = current_database() AND NOT granted AND mode = 'AccessExclusiveLock'`
      let isOver = false
      const onStep = async (step: string) => {
        if (step !== 'swap') return
        await zombie.query('BEGIN')
        await zombie.query(
          `SELECT advance_checkpoint('visits', topic, partition, version, next_offset, NULL) FROM (SELECT * FROM checkpoints LIMIT 1) AS one`,
        )
      }
      const swapped = replay({}, { onStep }).finally(() => (isOver = true))
      await expect.poll(async () => isOver || (await asAdmin(locks)).rowCount === 1, { timeout: 20_000 }).toBe(true)
      await zombie.query(`INSERT INTO visits VALUES ('${MARKER}', 1, 'a_zombie')`)
      await zombie.query('COMMIT')
      expect(await swapped).toMatchObject({ outcome: 'swapped' })
    })
    expect(await db.$queryRaw(sql`SELECT FROM visits WHERE last_event = 'a_zombie'`)).toEqual([])
    expect(await countVisits(db)).toBe(40)
    await givenRunner(log, db)
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(41)
  })

  it('folds records that arrived during the comparison before it requests the locks of the swap', async () => {
    const log = await givenLog()
    const { db, url, replay } = await givenVisitsReplay(log)
    await givenRunner(log, db)
    let folded = 0
    await withClient(url, async (reader) => {
      await reader.query('SET search_path TO visits')
      const onStep = async (step: string) => {
        if (step !== 'swap') return
        await log.publish(givenEvents(1_500))
        await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(1_500)
        await reader.query('BEGIN; SELECT FROM checkpoints')
      }
      const swapped = replay({}, { onStep, onProgress: (records) => void (folded += records) })
      await expect.poll(() => folded, { timeout: 20_000 }).toBe(1_500)
      await reader.query('COMMIT')
      expect(await swapped).toMatchObject({ outcome: 'swapped' })
    })
  })

  it('makes a batch that was loaded from the old rows stale', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(40))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(40)
    await runner.stop()
    const before = await db.$queryRaw(sql`SELECT partition, version FROM checkpoints ORDER BY partition`)
    await replay()
    const after = await db.$queryRaw(sql`SELECT partition, version - 1 AS version FROM checkpoints ORDER BY partition`)
    expect(after).toEqual(before)
  })

  it('resumes an interrupted replay, or starts over with --restart', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(2_000))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(2_000)
    await runner.stop()
    await expect(replay({}, { around: failing })).rejects.toMatchObject({ cause: new Error('cut off') })
    const begins: { resumedFrom: string | undefined; remaining: number }[] = []
    await replay({ isDryRun: true }, { onBegin: (begin) => void begins.push(begin), around: failing }).catch(() => {})
    await replay({ isDryRun: true, restart: true }, { onBegin: (begin) => void begins.push(begin) })
    expect(begins[0]?.resumedFrom).toMatch(/^2\d{3}-/)
    expect(begins[0]?.remaining).toBeLessThan(2_000)
    expect(begins[1]).toEqual({ resumedFrom: undefined, remaining: 2_000 })
  })

  it('resumes by itself after its sessions were terminated', async () => {
    const log = await givenLog()
    const { db, replay, asAdmin } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(100))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(100)
    await runner.stop()
    const begins: { resumedFrom: string | undefined; remaining: number }[] = []
    let cuts = 0
    const onStep = async (step: string) => {
      if (step !== 'compare' || cuts++ > 0) return
      await asAdmin(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`)
    }
    const outcome = await replay({ restart: true }, { onStep, onBegin: (begin) => void begins.push(begin) })
    expect(outcome).toMatchObject({ outcome: 'swapped' })
    expect(begins).toMatchObject([
      { resumedFrom: undefined, remaining: 100 },
      { resumedFrom: expect.any(String), remaining: 0 },
    ])
  })

  it('is refused while another replay runs', async () => {
    const log = await givenLog()
    const { replay } = await givenVisitsReplay(log)
    const outcomes = await Promise.allSettled([replay(), replay()])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'REPLAY_RUNS' } })
  })

  it('lists differing rows by key and column, and swaps them only if differences are accepted', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(40))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(40)
    await runner.stop()
    const right = await readVisits(db)
    await db.$executeRaw(sql`UPDATE visits SET count = 7 WHERE user_id = ${userIdFixture('user-1')}::uuid`)
    await db.$executeRaw(sql`INSERT INTO visits VALUES (${MARKER}::uuid, 1, 'unheard')`)
    await db.$executeRaw(sql`DELETE FROM visits WHERE user_id = ${userIdFixture('user-2')}::uuid`)
    const refused = await replay()
    expect(refused).toMatchObject({ outcome: 'refused', comparisons: [{ onlyLive: 2, onlyRebuilt: 2 }, {}, {}] })
    expect(new Set(refused.comparisons[0]?.examples)).toEqual(
      new Set([
        { key: `user_id=${MARKER}`, kind: 'only live', columns: [] },
        { key: `user_id=${userIdFixture('user-1')}`, kind: 'differs', columns: ['count'] },
        { key: `user_id=${userIdFixture('user-2')}`, kind: 'only rebuilt', columns: [] },
      ]),
    )
    expect(await readVisits(db)).not.toEqual(right)
    expect(await replay({ acceptsDifferences: true })).toMatchObject({ outcome: 'swapped' })
    expect(await readVisits(db)).toEqual(right)
  })

  it('folds a dead letter in its original position, and carries its state over', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    // All on ada's partition: her events are valid, but the live service once failed to parse them.
    await log.publish(
      givenEvents(3, () => 'ada'),
      ['{"broken', '{"broken', '{"broken'],
    )
    await expect.poll(() => offsetsOf(db), { timeout: 20_000 }).toBe(await endsOf(log))
    await runner.stop()
    await asIfUnparsed(db, [
      [0n, 'dead'],
      [1n, 'discarded'],
      [2n, 'retried'],
    ])
    const letters = await db.$queryRaw(sql`SELECT id, "offset", state, reason FROM dead_letters ORDER BY "offset"`)
    expect(await replay()).toMatchObject({ outcome: 'swapped', comparisons: [{ onlyLive: 0, onlyRebuilt: 0 }, {}, {}] })
    expect(await countVisits(db)).toBe(1)
    expect(await db.$queryRaw(sql`SELECT id, "offset", state, reason FROM dead_letters ORDER BY "offset"`)).toEqual(
      letters,
    )
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry' WHERE state = 'dead'`)
    await givenRunner(log, db)
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(2)
  })

  it('passes a batch that cannot be decoded where the live consumer did, and no other', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    const partition = partitionOf('ada')
    await log.publish(ofAda())
    await publishCompressed(log.connection, { topic: log.topic, partition }, { records: 100_001 })
    await log.publish(ofAda())
    const setAside = () =>
      db.$executeRaw(sql`UPDATE partition_alarms SET set_aside_by = 'ops', set_aside_at = now() WHERE "offset" = 1`)
    await expect.poll(setAside, { timeout: 20_000 }).toBe(1)
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(2)
    await runner.stop()
    const letters = await db.$queryRaw(sql`SELECT id, "offset", reason, headers FROM dead_letters`)
    expect(letters).toHaveLength(1)
    expect(await replay()).toMatchObject({ outcome: 'swapped', comparisons: [{ onlyLive: 0, onlyRebuilt: 0 }, {}, {}] })
    expect(await countVisits(db)).toBe(2)
    expect(await db.$queryRaw(sql`SELECT id, "offset", reason, headers FROM dead_letters`)).toEqual(letters)
    await db.$executeRaw(sql`DELETE FROM dead_letters`)
    await expect(replay()).rejects.toThrow(/The batch at offsets 1 to 100001 of .* cannot be decoded/)
  })

  it('passes a batch that was damaged after the live consumer had folded its first records, and reports them', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const partition = partitionOf('ada')
    await log.publish(ofAda())
    await publishCompressed(log.connection, { topic: log.topic, partition }, { records: 100_001 })
    await log.publish(ofAda())
    // As if offsets 0 to 5 were folded.
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', ${log.topic}, ${partition}, 6)`)
    const { runner } = await givenRunner(log, db)
    const setAside = () =>
      db.$executeRaw(sql`UPDATE partition_alarms SET set_aside_by = 'ops', set_aside_at = now() WHERE "offset" = 6`)
    await expect.poll(setAside, { timeout: 20_000 }).toBe(1)
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(1)
    await runner.stop()
    const offsets = { topic: log.topic, partition, firstOffset: '1', lastOffset: '5' }
    const reported: LostOffsets[] = []
    const onLost = (one: LostOffsets): void => void reported.push(one)
    const interrupted = { onLost, onStep: () => Promise.reject(new Error('interrupted')) }
    await expect(replay({}, interrupted)).rejects.toThrow('interrupted')
    expect(reported.splice(0)).toEqual([offsets])
    // The resumed replay reads no batch again.
    const accepting = { acceptsDifferences: true }
    expect(await replay(accepting, { onLost })).toMatchObject({ outcome: 'swapped' })
    expect(reported.splice(0)).toEqual([offsets])
    expect(await countVisits(db)).toBe(2)
    const lost = `Offsets 1 to 5 of ${log.topic}/${partition} cannot be rebuilt: their batch cannot be decoded`
    const letters = () => db.$queryRaw(sql`SELECT "offset", reason FROM dead_letters ORDER BY "offset"`)
    const both = [{ offset: 1n, reason: lost }, { offset: 6n }]
    expect(await letters()).toMatchObject(both)
    expect(await replay({}, { onLost })).toMatchObject({ outcome: 'swapped' })
    expect(reported).toEqual([])
    expect(await letters()).toMatchObject(both)
    // Another letter in the range of the batch does not set the batch aside.
    await db.$executeRaw(sql`UPDATE dead_letters SET headers = '{}'`)
    await expect(replay()).rejects.toThrow(/The batch at offsets 1 to 100001 of .* cannot be decoded/)
  })

  it('folds a dead letter that is retried during the rebuild exactly once, and publishes nothing for it', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db)
    await log.publish(givenEvents(3, () => 'ada'))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(3)
    await asIfUnparsed(db, [[0n, 'dead']])
    expect(await countVisits(db)).toBe(2)
    const onStep = async (step: string) => {
      if (step !== 'swap') return
      await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry' WHERE state = 'dead'`)
      await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(3)
    }
    expect(await replay({}, { onStep, around: publishingRetries })).toMatchObject({ outcome: 'swapped' })
    await runner.stop()
    expect(await countVisits(db)).toBe(3)
    expect(await db.$queryRaw(sql`SELECT state FROM dead_letters`)).toEqual([{ state: 'retried' }])
  })

  it('carries the outbox over, and continues its numbering', async () => {
    const log = await givenLog()
    const { db, replay } = await givenVisitsReplay(log)
    const { runner } = await givenRunner(log, db) // without a publisher, so nothing is drained
    await log.publish(givenEvents(10))
    await expect.poll(() => countVisits(db), { timeout: 20_000 }).toBe(10)
    await runner.stop()
    const waiting = await db.$queryRaw(sql`SELECT sequence, partition, topic, key, value FROM outbox ORDER BY sequence`)
    await replay()
    expect(
      await db.$queryRaw(sql`SELECT sequence, partition, topic, key, value FROM outbox ORDER BY sequence`),
    ).toEqual(waiting)
    await givenRunner(log, db, { publisher: log.publisher })
    await log.publish(givenEvents(5))
    await expect.poll(() => countPublished(log), { timeout: 20_000 }).toBe(15)
  })
})

/** Turns offsets of ada's partition into dead letters, as if the live service had not parsed them, or had folded them late. */
async function asIfUnparsed(db: Db, letters: readonly (readonly [bigint, string])[]): Promise<void> {
  for (const [offset, state] of letters) {
    await db.$executeRaw(sql`
      INSERT INTO dead_letters (projection, topic, partition, "offset", key, value, headers, record_time, reason, service_version, state)
      SELECT 'visits', topic, partition, ${offset}, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), headers::json, now(), 'an old schema', '0', ${state}
      FROM (
        SELECT topic.topic, topic.partition, outbox.key, outbox.value, outbox.headers
        FROM outbox, (SELECT topic, partition FROM checkpoints WHERE next_offset > 0 LIMIT 1) AS topic
        ORDER BY sequence OFFSET ${offset} LIMIT 1
      ) AS sound`)
    if (state !== 'retried')
      await db.$executeRaw(sql`UPDATE visits SET count = count - 1 WHERE user_id = ${userIdFixture('ada')}::uuid`)
  }
}

/** Returns a projection that also publishes retried dead letters, like an evaluator whose late answers confirm offers. */
function publishingRetries(projection: Projection): Projection {
  const EventTracked: Projection['evolve'][string] = (draft, record, context) => {
    evolveDraft(projection, draft, [record], context.mode === 'late' ? { ...context, mode: 'live' } : context)
  }
  return { ...projection, evolve: { ...projection.evolve, EventTracked } }
}

/** Returns a projection whose third commit fails. */
function failing<Fact extends AnyFact, Draft>(projection: Projection<Fact, Draft>): Projection<Fact, Draft> {
  let commits = 0
  const save = (draft: Draft) => {
    if (++commits > 2) throw new Error('cut off')
    return projection.save(draft)
  }
  return { ...projection, save }
}

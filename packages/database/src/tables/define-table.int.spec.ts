import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { openTestDb } from '../../test/open-test-db.ts'
import { Sample } from '../../generated/tables.ts'
import { type Db, defineTable, sql, type Sql, withClient } from '../index.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../test/empty-database.ts'

const samples = defineTable(...Sample, {
  total: 'add',
  revision: 'greatest',
  firstAt: 'least',
  note: 'keep',
  traits: { leastBy: ['firstAt'] },
})

function sample(user: number, own: Partial<typeof plain> = {}) {
  return { ...plain, userId: `00000000-0000-4000-8000-${String(user).padStart(12, '0')}`, ...own }
}
const plain = {
  organization: 'acme',
  traits: '{}',
  note: null as string | null,
  total: 1,
  revision: 1,
  isKnown: true,
  firstAt: '2026-11-21T10:00:00.123Z',
  lastAt: null as string | null,
  latestMs: [] as number[],
  labels: [] as string[],
}

describe('a table on Postgres', () => {
  let database: EmptyDatabase
  let db: Db
  let another: Db

  beforeAll(async () => {
    database = await createEmptyDatabase(inject('databaseUrl'))
    await database.run(`
      CREATE TABLE samples (
        organization text, user_id uuid, traits jsonb NOT NULL, note text, total bigint NOT NULL, revision int NOT NULL,
        is_known boolean NOT NULL, first_at timestamptz(3) NOT NULL, last_at timestamptz(3), latest_ms bigint[] NOT NULL,
        labels text[] NOT NULL, PRIMARY KEY (organization, user_id))`)
    // Joins look up one key after the other, as they do in a large table.
    const url = new URL(database.url)
    url.searchParams.set('options', '-c enable_hashjoin=off -c enable_mergejoin=off -c enable_seqscan=off')
    db = openTestDb(url.href, 'public')
    another = openTestDb(url.href, 'public')
  })
  beforeEach(() => database.run('TRUNCATE samples'))
  afterAll(async () => {
    await Promise.all([db?.$disconnect(), another?.$disconnect()])
    await database?.drop()
  })

  async function run(statements: readonly Sql[], by = db): Promise<void> {
    for (const statement of statements) await by.$executeRaw(statement)
  }

  it('returns rows as they were written', async () => {
    const rows = [
      sample(1),
      sample(2, {
        traits: '{"plan": "pro", "__proto__": "a slug like any other"}',
        note: 'with "quotes", {braces} and a \\',
        total: Number.MAX_SAFE_INTEGER,
        isKnown: false,
        lastAt: '2026-11-22T00:00:00.000Z',
        latestMs: [1, 1_795_000_000_000],
        labels: ['plain', 'a,b', '"quoted"', '\\', '', 'NULL', '{}'],
      }),
    ]
    await run(samples.upsert(rows))
    const found = await samples.selectByKeys(db, [sample(2), sample(1), sample(3)])
    expect(found.toSorted((one, other) => (one.userId < other.userId ? -1 : 1))).toEqual(rows)
  })

  it('parses the same rows from JSON', async () => {
    await run(samples.upsert([sample(1, { latestMs: [7], lastAt: '2026-11-22T00:00:00.000Z' })]))
    const [found] = await db.$queryRaw<{ row: object }[]>(
      sql`SELECT to_json(found) AS row FROM (SELECT ${samples.columns} FROM samples) AS found`,
    )
    expect(samples.parse(found?.row ?? {})).toEqual(sample(1, { latestMs: [7], lastAt: '2026-11-22T00:00:00.000Z' }))
  })

  it('merges new rows into existing ones, column by column', async () => {
    await run(samples.upsert([sample(1, { note: 'first', total: 2, revision: 7 })]))
    await run(
      samples.upsert([
        sample(1, { note: 'second', total: 3, revision: 5, firstAt: '2026-11-20T00:00:00.000Z', labels: ['new'] }),
      ]),
    )
    expect(await samples.selectByKeys(db, [sample(1)])).toEqual([
      sample(1, { note: 'first', total: 5, revision: 7, firstAt: '2026-11-20T00:00:00.000Z', labels: ['new'] }),
    ])
  })

  it.each(['together', 'one after the other'])('merges rows of the same key, written %s', async (how) => {
    const rows = [
      sample(1, { note: 'first', total: 2, revision: 7, lastAt: '2026-11-22T00:00:00.000Z' }),
      sample(2),
      sample(1, { note: 'second', total: 3, revision: 5, firstAt: '2026-11-20T00:00:00.000Z', traits: '{"a": 1}' }),
      sample(1, { total: 4, revision: 6, firstAt: '2026-11-20T00:00:00.000Z', traits: '{"b": 2}' }),
    ]
    if (how === 'together') await run(samples.upsert(rows))
    else for (const row of rows) await run(samples.upsert([row]))
    expect(await samples.selectByKeys(db, [sample(1)])).toEqual([
      sample(1, { note: 'first', total: 9, revision: 7, firstAt: '2026-11-20T00:00:00.000Z', traits: '{"a": 1}' }),
    ])
  })

  it('skips rows that do not meet the condition of an upsert', async () => {
    await run(samples.upsert([sample(1), sample(2, { revision: 9 })], { where: sql`given.revision > 5` }))
    expect(await samples.select(db, sql`FROM samples`)).toEqual([sample(2, { revision: 9 })])
  })

  it('fails to insert an existing row', async () => {
    await run(samples.insert([sample(1)]))
    await expect(run(samples.insert([sample(1)]))).rejects.toThrow(/23505|[Uu]nique/)
  })

  it('inserts only missing rows', async () => {
    await run(samples.insert([sample(1)]))
    await run(samples.insertMissing([sample(2), sample(1, { note: 'changed' }), sample(2)]))
    expect(await samples.select(db, sql`FROM samples ORDER BY user_id`)).toEqual([sample(1), sample(2)])
  })

  it('inserts the first of several missing rows with one key', async () => {
    const first = Array.from({ length: 200 }, (_, nth) => sample(nth, { total: 1 }))
    await run(samples.insertMissing([...first, ...first.map((row) => ({ ...row, total: 2 }))]))
    expect(await samples.select(db, sql`FROM samples ORDER BY user_id`)).toEqual(first)
  })

  it('updates some columns of existing rows', async () => {
    await run(samples.upsert([sample(1), sample(2)]))
    const changed = [sample(3), sample(2, { note: 'changed', labels: ['a'], total: 9 })]
    await run(samples.update(changed, ['note', 'labels']))
    expect(await samples.select(db, sql`FROM samples ORDER BY user_id`)).toEqual([
      sample(1),
      sample(2, { note: 'changed', labels: ['a'] }),
    ])
  })

  it('deletes rows by key and by a condition', async () => {
    await run(samples.upsert([sample(1), sample(2), sample(3)]))
    await run([
      ...samples.deleteByKeys([sample(1), sample(7)]),
      samples.deleteWhere(sql`user_id = ${sample(3).userId}::uuid`),
    ])
    expect(await samples.select(db, sql`FROM samples`)).toEqual([sample(2)])
  })

  it('finds rows by some of their columns, and joins given rows in their order', async () => {
    await run(samples.upsert([sample(1), sample(2, { organization: 'globex' })]))
    expect(await samples.selectByKeys(db, [{ organization: 'globex' }], ['organization'])).toEqual([
      sample(2, { organization: 'globex' }),
    ])
    const asked = samples.source('asked', [sample(2), sample(1)])
    expect(await db.$queryRaw(sql`SELECT position, user_id FROM ${asked} ORDER BY position`)).toEqual([
      { position: 1n, user_id: sample(2).userId },
      { position: 2n, user_id: sample(1).userId },
    ])
  })

  describe('written by two transactions in opposite orders', () => {
    const rows = Array.from({ length: 60 }, (_, index) => sample(index))
    const middle = sample(30)

    /** Both wait for the row in the middle, or for each other's rows before it. Then the row is free. */
    async function writeWhileMiddleIsLocked(write: (given: typeof rows) => Sql[]): Promise<void> {
      await withClient(database.url, async (holder) => {
        await holder.query('BEGIN')
        await holder.query('UPDATE samples SET note = note WHERE user_id = $1', [middle.userId])
        const writes = Promise.all([run(write(rows)), run(write(rows.toReversed()), another)])
        await vi.waitFor(async () => {
          const [found] = await database.run(`
            SELECT count(*)::int AS waiting FROM pg_stat_activity
            WHERE datname = '${database.name}' AND wait_event_type = 'Lock'`)
          expect(found).toEqual({ waiting: 2 })
        }, 10_000)
        await holder.query('COMMIT')
        await writes
      })
    }

    it.each<[string, (given: typeof rows) => Sql[]]>([
      ['upserts', (given) => samples.upsert(given)],
      ['updates', (given) => samples.update(given, ['note'])],
      ['deletions', (given) => samples.deleteByKeys(given)],
    ])('never deadlocks: %s', async (what, write) => {
      await run(samples.upsert(what === 'upserts' ? [middle] : rows))
      await writeWhileMiddleIsLocked(write)
      const found = await samples.select(db, sql`FROM samples`)
      expect(found).toHaveLength(what === 'deletions' ? 0 : rows.length)
    })
  })
})

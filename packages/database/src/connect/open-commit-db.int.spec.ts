import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CommitDb,
  type CommitDbOptions,
  isConnectionFailure,
  openCommitDb,
  raw,
  sql,
  sqlStateOf,
} from '../index.ts'
import { SILENT_CONNECTION_MS } from './connection-config.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../test/empty-database.ts'

const MUCH = 'x'.repeat(300_000)

let database: EmptyDatabase
let db: CommitDb

beforeAll(async () => {
  database = await createEmptyDatabase(inject('databaseUrl'))
  await database.run(`
    CREATE SCHEMA things;
    CREATE TABLE things.kept (
      text text, texts text[], whole bigint, real float8, truth boolean, instant timestamptz, ids uuid[]
    )`)
  db = connect()
})
afterAll(async () => {
  await db?.$disconnect()
  await database?.drop()
})
beforeEach(() => database.run('TRUNCATE things.kept'))

function connect(own: Partial<CommitDbOptions> = {}): CommitDb {
  return openCommitDb({ url: database.url, schema: 'things', applicationName: 'commit-spec', ...own })
}

/** Another connection, for one test. */
function given(own: Partial<CommitDbOptions> = {}): CommitDb {
  const opened = connect(own)
  onTestFinished(opened.$disconnect)
  return opened
}

const readKept = () => db.$queryRaw(sql`SELECT * FROM kept ORDER BY whole`)

describe('executeAll', () => {
  it('stores values of every type without a change', async () => {
    const id = '0199a1e0-0000-7000-8000-000000000001'
    const instant = new Date('2026-11-21T10:00:00.123Z')
    await db.executeAll([
      sql`INSERT INTO kept VALUES (${'a'}, ${['b']}::text[], ${2n ** 62n}, ${0.1}, ${true},
        ${instant}::timestamptz, ${[id]}::uuid[])`,
      sql`INSERT INTO kept (text, texts, whole, truth) VALUES (${null}, ${[null, '']}::text[], ${-1}, ${false})`,
    ])
    expect(await readKept()).toMatchObject([
      { text: null, texts: [null, ''], whole: -1n, truth: false },
      { text: 'a', texts: ['b'], whole: 2n ** 62n, real: 0.1, truth: true, instant, ids: [id] },
    ])
  })

  it('stores every text without a change, alone and in an array', async () => {
    const anyText = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !text.includes('\u0000'))
    const awkward = fc.constantFrom(
      '',
      'NULL',
      'null',
      '{}',
      '"',
      '\\',
      '\\"',
      "'; DROP TABLE kept",
      '$1[1]',
      '{"a":"\\n"}',
    )
    const texts = fc.array(fc.oneof(anyText, awkward), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText, awkward), texts, async (text, all) => {
        await db.executeAll([
          sql`DELETE FROM kept`,
          sql`INSERT INTO kept (text, texts) VALUES (${text}, ${all}::text[])`,
        ])
        expect(await readKept()).toMatchObject([{ text, texts: all }])
      }),
      { numRuns: 100 },
    )
  })

  it('lets each statement see the changes of those before it', async () => {
    await db.executeAll([
      sql`INSERT INTO kept (whole) VALUES (${1})`,
      sql`UPDATE kept SET whole = whole + ${1}`,
      sql`INSERT INTO kept (whole) SELECT whole + ${1} FROM kept`,
    ])
    expect(await readKept()).toMatchObject([{ whole: 2n }, { whole: 3n }])
  })

  it('commits nothing if a statement fails', async () => {
    const failing = db.executeAll([sql`INSERT INTO kept (whole) VALUES (${1})`, sql`SELECT 1 / 0`])
    await expect(failing).rejects.toThrow('division by zero')
    expect(await readKept()).toEqual([])
  })

  it('refuses an object, which has no unique text form', async () => {
    await expect(db.executeAll([sql`SELECT ${{ a: 1 }}`])).rejects.toThrow('give its JSON')
  })
})

const terminate = (name: string) =>
  database.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${name}'`)
const pidOf = (own: CommitDb) => own.$queryRaw(sql`SELECT pg_backend_pid() AS pid`)

describe('connections of openCommitDb', () => {
  it('parse integers, instants and JSON as a Prisma client does', async () => {
    const rows = await db.$queryRaw(sql`
      SELECT 1::int AS small, 9007199254740993::int8 AS large, 0.5::float8 AS real, true AS truth, NULL AS nothing,
        '2026-11-21T10:00:00.123Z'::timestamptz AS instant, '{"a":[1]}'::jsonb AS json, ARRAY['a', NULL] AS texts`)
    expect(rows).toEqual([
      {
        small: 1,
        large: 9007199254740993n,
        real: 0.5,
        truth: true,
        nothing: null,
        instant: new Date('2026-11-21T10:00:00.123Z'),
        json: { a: [1] },
        texts: ['a', null],
      },
    ])
    expect(await db.$executeRaw(sql`INSERT INTO kept (whole) VALUES (1), (2)`)).toBe(2)
  })

  it('are at most maxConnections', async () => {
    const own = given({ maxConnections: 2 })
    const pids = await Promise.all(Array.from({ length: 5 }, () => pidOf(own)))
    expect(new Set(pids.map((rows) => JSON.stringify(rows))).size).toBe(2)
  })

  it('continue after a failed statement, with the statements that were sent after it', async () => {
    const insert = sql`INSERT INTO kept (whole, text) VALUES (${7}, 'behind')`
    await expect(db.executeAll([sql`SELECT 1 / ${0}::int`, insert])).rejects.toThrow('division by zero')
    await db.executeAll([insert])
    expect(await readKept()).toMatchObject([{ whole: 7n }])
  })

  it('are replaced after a loss, between two commits and during one', async () => {
    const lost: Error[] = []
    const own = given({ applicationName: 'commit-lost', onConnectionLost: (error) => lost.push(error) })
    await own.executeAll([sql`INSERT INTO kept (whole) VALUES (1)`])
    await terminate('commit-lost')
    await expect.poll(() => lost.length).toBeGreaterThan(0)
    const cut = own.executeAll([sql`INSERT INTO kept (whole) VALUES (2)`, sql`SELECT pg_sleep(10)`])
    const outcome = cut.catch((error: unknown) => error)
    const asleep = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'commit-lost'"
    await expect.poll(async () => (await database.run(asleep)).length).toBe(1)
    await terminate('commit-lost')
    expect(isConnectionFailure(await outcome)).toBe(true)
    await own.executeAll([sql`INSERT INTO kept (whole) VALUES (3)`])
    expect(await readKept()).toMatchObject([{ whole: 1n }, { whole: 3n }])
  })

  it('fail one statement if one of them is terminated', async () => {
    const own = given({ applicationName: 'commit-cut', maxConnections: 1 })
    const cut = own.$queryRaw(sql`SELECT pg_sleep(10)`).catch((error: unknown) => error)
    const behind = own.$queryRaw(sql`SELECT 1 AS one`)
    const asleep = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'commit-cut'"
    await expect.poll(async () => (await database.run(asleep)).length).toBe(1)
    await terminate('commit-cut')
    expect(isConnectionFailure(await cut)).toBe(true)
    expect(await behind).toEqual([{ one: 1 }])
  })

  it('fail one statement after a migration has changed the type of a column', async () => {
    const own = given({ maxConnections: 1, keepsPlansForMs: 5_000 })
    await database.run('CREATE TABLE things.altered (n int)')
    onTestFinished(async () => void (await database.run('DROP TABLE things.altered')))
    const read = () => own.$queryRaw(sql`SELECT n FROM altered`)
    await own.executeAll([sql`INSERT INTO altered VALUES (${1})`])
    expect(await read()).toEqual([{ n: 1 }])
    await database.run('ALTER TABLE things.altered ALTER n TYPE text')
    expect(sqlStateOf(await read().catch((error: unknown) => error))).toBe('0A000')
    expect(await read()).toEqual([{ n: '1' }])
  })

  it('prepare a statement once for reads and commits', async () => {
    const own = given({ maxConnections: 1 })
    const same = sql`INSERT INTO kept (whole) VALUES (${5n}) RETURNING whole`
    expect(await own.$queryRaw(same)).toEqual([{ whole: 5n }])
    await own.executeAll([same])
    expect(await own.$queryRaw(same)).toEqual([{ whole: 5n }])
    const prepared = await own.$queryRaw(sql`
      SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO kept%'`)
    expect(prepared).toEqual([{ count: 1 }])
  })

  it('are closed when idle, and opened again', async () => {
    const own = given({ silentConnectionMs: 1_000 })
    const first = await pidOf(own)
    await sleep(700)
    expect(await pidOf(own)).not.toEqual(first)
  })

  it('report an unreachable Postgres as a connection failure', async () => {
    const outcome = await given({ url: 'postgresql://nobody@127.0.0.1:1/none' })
      .executeAll([sql`SELECT 1`])
      .catch((error: unknown) => error)
    expect(isConnectionFailure(outcome)).toBe(true)
  })

  it('have timeouts for a statement, for a lock, and for a whole commit', async () => {
    const names = ['statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout']
    const rows = await db.$queryRaw(sql`
      SELECT name, setting FROM pg_settings WHERE name = ANY (${names}) ORDER BY name`)
    expect(rows).toEqual([
      { name: 'idle_in_transaction_session_timeout', setting: '10000' },
      { name: 'lock_timeout', setting: '2000' },
      { name: 'statement_timeout', setting: '10000' },
      { name: 'transaction_timeout', setting: '11000' },
    ])
    // Otherwise the connection of a slow commit would count as lost, and the commit would be tried again as it is.
    expect(SILENT_CONNECTION_MS).toBeGreaterThanOrEqual(11_000 + 2_000)
  })

  // Each of the statements is short enough.
  it('end a commit whose statements together take too long', async () => {
    const own = given({ statementTimeoutMs: 500 })
    const slow = Array.from({ length: 40 }, () => sql`SELECT pg_sleep(0.05)`)
    const outcome = await own.executeAll(slow).catch((error: unknown) => error)
    expect(sqlStateOf(outcome)).toBe('25P04')
    await own.executeAll(slow.slice(0, 1))
  })

  it('read the new tables after the swap of a replay', async () => {
    const own = given({ keepsPlansForMs: 60_000, maxConnections: 1 })
    const count = sql`SELECT count(*)::int AS places FROM places`
    const add = sql`INSERT INTO places DEFAULT VALUES`
    await database.run('CREATE TABLE things.places (); CREATE SCHEMA rebuilt; CREATE TABLE rebuilt.places ()')
    await own.executeAll([add])
    expect(await own.$queryRaw(count)).toEqual([{ places: 1 }])
    await database.run('INSERT INTO rebuilt.places SELECT FROM generate_series(1, 5)')
    await database.run('ALTER SCHEMA things RENAME TO retired; ALTER SCHEMA rebuilt RENAME TO things')
    onTestFinished(async () => {
      await database.run('DROP SCHEMA things CASCADE; ALTER SCHEMA retired RENAME TO things; DROP TABLE things.places')
    })
    await own.executeAll([add])
    expect(await own.$queryRaw(count)).toEqual([{ places: 6 }])
  })

  // By a plan from when there were three rows, each run reads all of them.
  it.each([
    ['after a while', 300, async (_own: CommitDb, fill: string) => database.run(fill).then(() => sleep(300))],
    ['after many writes', 60_000, (own: CommitDb, fill: string) => own.executeAll([raw(fill), sql`SELECT ${MUCH}`])],
  ])(
    'plan a statement once, and again %s, for the size of the table at that time',
    async (_when, keepsPlansForMs, grow) => {
      const own = given({ keepsPlansForMs, maxConnections: 1 })
      await database.run(`
      CREATE TABLE things.filling (id int PRIMARY KEY, n int) WITH (autovacuum_enabled = false);
      INSERT INTO things.filling VALUES (1, 0), (2, 0), (3, 0);
      ANALYZE things.filling`)
      onTestFinished(async () => void (await database.run('DROP TABLE things.filling')))
      const update = sql`
      UPDATE filling SET n = n + 1 FROM unnest(${[1, 2]}::int[]) AS asked (id) WHERE filling.id = asked.id`
      const runs = async () => {
        for (let run = 0; run < 10; run += 1) await own.executeAll([update])
        await own.$queryRaw(sql`SELECT pg_stat_force_next_flush()::text`)
        const [row] = await own.$queryRaw<{ read: number }[]>(sql`
        SELECT (seq_tup_read + (SELECT idx_tup_read FROM pg_stat_user_indexes WHERE relname = 'filling'))::int AS read
        FROM pg_stat_user_tables WHERE relname = 'filling'`)
        return row?.read ?? 0
      }
      await runs()
      const [prepared] = await own.$queryRaw<{ plans: number }[]>(sql`
      SELECT generic_plans::int AS plans FROM pg_prepared_statements
      WHERE statement LIKE '%UPDATE filling SET%' AND statement NOT LIKE '%generic%'`)
      expect(prepared).toEqual({ plans: 10 })
      await grow(own, 'INSERT INTO things.filling SELECT generate_series(4, 10000), 0')
      const before = await runs()
      expect((await runs()) - before).toBeLessThan(100)
    },
  )
})

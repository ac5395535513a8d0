import { setTimeout as sleep } from 'node:timers/promises'
import { eventTracked, identifyRequested, userIdFixture, visit } from '@nextvisit/contracts/fixtures'
import { raw, sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector } from '../test/given-projector.ts'
import { readStoredUsers, readUser } from './queries.ts'

/** Tables, each with a column by which many copies of a row differ. */
const UNLIKE = {
  users: 'user_id',
  user_events: 'user_id',
  segment_members: 'user_id',
  segment_progress: 'organization',
  idempotent_records: 'record_id',
}
const TABLES = Object.keys(UNLIKE)
const MANY = 5_000
/** From the sixth run on, Postgres might keep a statement's plan until it has new statistics. */
const RUNS = 10
/** Less than a running consumer, which keeps plans for seconds. */
const KEPT_MS = 500
const shop = { organization: 'acme', project: 'shop' }
const turn = {
  catalog: catalogOf([
    { id: 'paying', where: { trait: 'plan', is: 'pro' } },
    { id: 'active', where: { event: 'Checkout Completed', atLeast: 1, within: '1h' } },
  ]),
}
const ada = { ...shop, userId: userIdFixture('ada') }

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'), { maxConnections: 1, keepsPlansForMs: KEPT_MS })
  for (const table of TABLES) {
    await given.prisma.$executeRawUnsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  }
})
afterAll(() => given?.stop())

/** Each on its connection: Postgres counts by connection. */
const everyRun: readonly [name: string, connection: 'db' | 'prisma', run: () => Promise<unknown>][] = [
  ['a batch', 'db', () => given.fold(turn, identifyRequested({ keyed: true }), eventTracked({ keyed: true }), visit())],
  ['what is due', 'prisma', () => given.isDue(turn, '2026-11-02T10:00:00.000Z')],
  ['a look-up', 'prisma', () => readStoredUsers(given.prisma, [ada, { ...ada, userId: crypto.randomUUID() }])],
  ['a read', 'prisma', () => readUser(given.prisma, ada)],
]

async function runAll(): Promise<ReadonlyMap<string, number>> {
  const read = new Map<string, number>()
  for (const [name, connection, run] of everyRun) {
    const rows = await countRowsRead(given[connection], TABLES, async () => {
      for (let nth = 0; nth < RUNS; nth += 1) await run()
    })
    read.set(name, rows / RUNS)
  }
  return read
}

/** Copies of a row that is there. */
async function givenMany(table: string, column: string): Promise<void> {
  await given.prisma.$executeRaw(sql`
    INSERT INTO ${raw(table)} SELECT other.*
    FROM (SELECT ${raw(table)} AS first FROM ${raw(table)} LIMIT 1) AS known, generate_series(1, ${MANY}::int) AS nth,
      LATERAL jsonb_populate_record(first, jsonb_build_object(${column}::text, md5(nth::text)::uuid)) AS other`)
}

/** A database that fills quickly: its statistics are of a handful of users. */
it('a batch reads rows only of its users, also with a plan from when there were few users', async () => {
  for (const userName of ['ada', 'bob', 'cyd']) {
    const user = { userName, operations: { set: { plan: 'pro' } } }
    await given.fold(turn, identifyRequested(user), eventTracked({ userName }))
  }
  await given.prisma.$executeRaw(sql`ANALYZE`)
  await runAll()
  for (const [table, column] of Object.entries(UNLIKE)) await givenMany(table, column)
  await sleep(KEPT_MS)
  expect([...(await runAll())].filter(([, rows]) => rows > 40)).toEqual([])
})

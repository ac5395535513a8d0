import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { type CommitDb, raw, sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, statementsFor } from '../test/given-ledger.ts'
import { leaseRoom, returnLeased } from './leases.ts'
import { release, reserve } from './ledger.ts'
import { createProjection } from './projection.ts'

/** Tables, each with a column by which many copies of a row differ. */
const UNLIKE = { counters: 'organization', reserved_room: 'organization', reservations: 'unit', mau_members: 'user_id' }
const TABLES = Object.keys(UNLIKE)
const MANY = 5_000
/** From the sixth run on, Postgres may keep a statement's plan until it has new statistics. */
const RUNS = 10
/** Less than a running consumer, which keeps plans for seconds. */
const KEPT_MS = 500

const catalog = staticCatalog([])
const ledger = givenLedger()

/** Copies of a row that is there. */
async function givenMany(table: string, column: string): Promise<void> {
  await ledger.prisma.$executeRaw(sql`
    INSERT INTO ${raw(table)} SELECT other.*
    FROM (SELECT ${raw(table)} AS first FROM ${raw(table)} LIMIT 1) AS known, generate_series(1, ${MANY}::int) AS nth,
      LATERAL jsonb_populate_record(first, jsonb_build_object(${column}::text, md5(nth::text)::uuid)) AS other`)
}

/** A database that fills quickly: its statistics are of a handful of rows. */
it('each statement reads only the rows that it needs, also with a plan from when there were few rows', async () => {
  const db = ledger.connectOnce()
  const folding = ledger.connectOnce({ keepsPlansForMs: KEPT_MS })
  for (const table of TABLES) await db.$executeRaw(sql`ALTER TABLE ${raw(table)} SET (autovacuum_enabled = false)`)
  const place = newPlace()
  const ofMonth = { organization: place.organization, month: '2026-11' }
  const reserved: string[] = []
  const leased: string[] = []
  const asked = () => {
    const questions = [event(place, 9 * MANY), mau(place, 9 * MANY, randomUUID())]
    reserved.push(...questions.map(({ recordId }) => recordId))
    return questions
  }
  const lease = () => {
    leased.push(randomUUID())
    return leased.slice(-1).map((one) => ({ lease: one, partition: 0, units: 3 }))
  }
  /** Each on its connection: Postgres counts by connection. */
  const everyRun: readonly [name: string, run: () => Promise<unknown>, connection?: CommitDb][] = [
    ['a batch', () => folding.executeAll(statementsFor([eventTracked(place), identifyRequested(place)])), folding],
    ['a reservation', async () => expect(await reserve(db, asked(), NOW)).toEqual(['granted', 'granted'])],
    ['a release', () => release(db, reserved.splice(-1))],
    [
      'a lease',
      async () => {
        const question = { ...ofMonth, limit: 9 * MANY, leases: lease() }
        expect(await leaseRoom(db, [question], NOW)).toEqual([true])
      },
    ],
    [
      'a return',
      () =>
        returnLeased(
          db,
          leased.splice(-1).map((one) => ({ ...ofMonth, lease: one, units: 1 })),
        ),
    ],
    ['what is due', async () => createProjection().ticks?.due(db, new Date(0), { catalog, partitions: [0, 1, 2] })],
  ]
  const runAll = async () => {
    const read = new Map<string, number>()
    for (const [name, run, connection = db] of everyRun) {
      const rows = await countRowsRead(connection, TABLES, async () => {
        for (let nth = 0; nth < RUNS; nth += 1) await run()
      })
      read.set(name, rows / RUNS)
    }
    return read
  }

  await reserve(db, asked(), NOW)
  await db.executeAll(statementsFor([identifyRequested(place)]))
  await db.$executeRaw(sql`ANALYZE`)
  await runAll()
  for (const [table, column] of Object.entries(UNLIKE)) await givenMany(table, column)
  await sleep(KEPT_MS)
  expect([...(await runAll())].filter(([, rows]) => rows > 60)).toEqual([])
})

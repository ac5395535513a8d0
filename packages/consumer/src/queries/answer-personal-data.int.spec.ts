import { randomUUID } from 'node:crypto'
import { sql } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { answerPersonalData, readUserRows } from './answer-personal-data.ts'

const ADA = { organization: 'acme', project: 'shop', userId: randomUUID() }
const BOB = { ...ADA, userId: randomUUID() }

/** Creates tables of which no code knows: with a key of several columns, of none, and one that is about nobody. */
async function givenTables() {
  const { db } = await givenVisitsDatabase()
  for (const statement of [
    `CREATE TABLE "Odd name" (organization text, project text, user_id uuid, "Month of" text, nth bigint, value json,
       PRIMARY KEY (organization, project, user_id, "Month of", nth))`,
    'CREATE TABLE people (organization text, project text, user_id uuid, name text, PRIMARY KEY (organization, project, user_id))',
    'CREATE TABLE totals (organization text, project text, total bigint, PRIMARY KEY (organization, project))',
  ])
    await db.$executeRaw(sql([statement] as never))
  for (const { organization, project, userId } of [ADA, BOB]) {
    await db.$executeRaw(sql`INSERT INTO people VALUES (${organization}, ${project}, ${userId}::uuid, ${userId})`)
    await db.$executeRaw(sql`
      INSERT INTO "Odd name" SELECT ${organization}, ${project}, ${userId}::uuid, month, nth, '{"b":1, "a":2}'
      FROM unnest(ARRAY['2026-10', '2026-11']) AS month, generate_series(1, 20) AS nth`)
  }
  return db
}

it.each([1, 7, 41, 200])('reads all rows of a user, and of nobody else, in pages of %i', async (limit) => {
  const db = await givenTables()
  const read: unknown[] = []
  let after: Parameters<typeof readUserRows>[1]['after']
  do {
    const { rows, next } = await readUserRows(db, { ...ADA, limit, after })
    expect(rows.length).toBeLessThanOrEqual(limit)
    read.push(...rows)
    after = next ?? undefined
  } while (after)
  const user = { organization: 'acme', project: 'shop', user_id: ADA.userId }
  expect(read).toEqual([
    ...['2026-10', '2026-11'].flatMap((month) =>
      Array.from({ length: 20 }, (_, nth) => ({
        table: 'Odd name',
        row: { ...user, 'Month of': month, nth: nth + 1, value: { b: 1, a: 2 } },
      })),
    ),
    { table: 'people', row: { ...user, name: ADA.userId } },
  ])
})

it('ends a page of large rows early', async () => {
  const db = await givenTables()
  await db.$executeRaw(sql`UPDATE "Odd name" SET value = to_json(repeat('x', 1000000))`)
  const { rows, next } = await readUserRows(db, { ...ADA, limit: 100 })
  expect([rows.length, next?.key]).toEqual([5, ['2026-10', '5']])
})

it('says that the latest records may be missing while the fold lags', async () => {
  const db = await givenTables()
  const context = { signal: new AbortController().signal, deadlineAt: performance.now() + 500 }
  const answers = [() => Promise.resolve(), () => Promise.reject(new Error('behind'))].map((barrier) =>
    answerPersonalData({ readDb: db, barrier, countKeyPartitions: async () => 1 }).readUserRows(
      { ...ADA, limit: 1 },
      context,
    ),
  )
  expect(await Promise.all(answers)).toEqual([
    expect.not.objectContaining({ stale: true }),
    expect.objectContaining({ stale: true }),
  ])
})

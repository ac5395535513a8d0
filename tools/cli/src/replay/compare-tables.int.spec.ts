import { withClient } from '@nextvisit/database'
import { createTestDatabase } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { coreMigrations } from '@nextvisit/consumer'
import { compareTables } from './compare-tables.ts'

const CORE = [{ directory: coreMigrations, table: '_core_migrations' }]

/** Creates a table in a live and a rebuilt schema, with a row each that differs in these columns. */
async function givenSchemas() {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'live', migrations: CORE })
  onTestFinished(database.drop)
  await withClient(database.url, async (client) => {
    await client.query('CREATE SCHEMA rebuilt')
    for (const table of ['outbox', 'partition_alarms', 'idempotent_records'])
      await client.query(`CREATE TABLE rebuilt.${table} (LIKE live.${table})`)
    for (const [schema, value] of [
      ['live', 1],
      ['rebuilt', 2],
    ] as const) {
      await client.query(`CREATE TABLE ${schema}.visits (user_id int PRIMARY KEY, seen int, added_later int)`)
      await client.query(`INSERT INTO ${schema}.visits VALUES (7, $1, $1)`, [value])
    }
  })
  return (notCompared: Readonly<Record<string, string>>) =>
    withClient(database.url, (client) =>
      compareTables(client, { live: 'live', rebuilt: 'rebuilt' }, { visits: { notCompared } }),
    )
}

it('a comparison covers every column of a partly folded table, except those that have a reason', async () => {
  const compare = await givenSchemas()
  expect(await compare({ seen: 'a reason' })).toContainEqual({
    table: 'visits',
    liveRows: 1,
    rebuiltRows: 1,
    onlyLive: 1,
    onlyRebuilt: 1,
    examples: [{ key: 'user_id=7', kind: 'differs', columns: ['added_later'] }],
  })
  expect(await compare({ seen: 'a reason', added_later: 'another' })).toContainEqual(
    expect.objectContaining({ table: 'visits', onlyLive: 0, onlyRebuilt: 0 }),
  )
})

it('a comparison throws for a reason that names a column that the table lacks', async () => {
  const compare = await givenSchemas()
  await expect(compare({ saen: 'a reason' })).rejects.toThrow('live.visits has no column saen')
})

import { withClient } from '@nextvisit/database'
import { createTestDatabase } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { withLocks } from './live-locks.ts'

async function givenTable(): Promise<string> {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'visits' })
  onTestFinished(database.drop)
  return database.url
}

const LOCKS = { schema: 'visits', locks: ['LOCK TABLE visits.checkpoints'] }

it('a stalled replay may hold its locks for a bounded time only', async () => {
  const url = await givenTable()
  const limits = `
    SELECT name, setting::int FROM pg_settings
    WHERE name IN ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout') ORDER BY name`
  await withClient(url, async (client) => {
    const within = await withLocks(client, LOCKS, () => client.query(limits))
    expect(within.rows).toEqual([
      { name: 'idle_in_transaction_session_timeout', setting: 15_000 },
      { name: 'lock_timeout', setting: 0 },
      { name: 'statement_timeout', setting: 30_000 },
    ])
    const after = await client.query<{ setting: number }>(limits)
    expect(after.rows.map(({ setting }) => setting)).toEqual([0, 0, 0])
  })
})

it('a replay names the blocking session when it gives up', async () => {
  const url = await givenTable()
  await withClient(url, async (reader) => {
    await reader.query(`SET application_name = 'nextvisit audit'; BEGIN; SELECT FROM visits.checkpoints`)
    const given = withClient(url, (client) => withLocks(client, { ...LOCKS, attempts: 2 }, async () => {}))
    await expect(given).rejects.toMatchObject({
      code: 'LIVE_IS_BUSY',
      retryable: true,
      message: expect.stringContaining('last by nextvisit audit (process '),
    })
  })
})

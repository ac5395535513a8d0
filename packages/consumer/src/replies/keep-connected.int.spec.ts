import { setTimeout as sleep } from 'node:timers/promises'
import { type CommitDb, type Db, openCommitDb, sql } from '@nextvisit/database'
import { createTestDatabase } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { visitsConsumer } from '../../test/visits-consumer.ts'
import { keepConnected } from './keep-connected.ts'

/** An idle connection is closed after half of this time, ms. */
const SILENT_MS = 1_000

async function givenConnection(): Promise<CommitDb> {
  const consumer = visitsConsumer()
  const database = await createTestDatabase(inject('databaseUrl'), consumer)
  const options = { url: database.url, schema: 'visits', applicationName: 'spec' }
  const db = openCommitDb({ ...options, maxConnections: 1, silentConnectionMs: SILENT_MS })
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  return db
}

async function connectionOf(db: Db): Promise<unknown> {
  return (await db.$queryRaw(sql`SELECT pg_backend_pid() AS pid`)) as unknown
}

it('keepConnected keeps an idle connection open until it is stopped', async () => {
  const db = await givenConnection()
  const kept = keepConnected(db, SILENT_MS / 10)
  await kept.start()
  const first = await connectionOf(db)
  await sleep(2 * SILENT_MS)
  expect(await connectionOf(db)).toEqual(first)
  await kept.stop()
  await sleep(2 * SILENT_MS)
  expect(await connectionOf(db)).not.toEqual(first)
})

it('keepConnected continues after a lost connection', async () => {
  const db = await givenConnection()
  const kept = keepConnected(db, SILENT_MS / 10)
  await kept.start()
  onTestFinished(kept.stop)
  await db.$executeRaw(sql`SELECT pg_terminate_backend(pg_backend_pid())`).catch(() => undefined)
  await sleep(SILENT_MS / 2)
  const second = await connectionOf(db)
  await sleep(2 * SILENT_MS)
  expect(await connectionOf(db)).toEqual(second)
})

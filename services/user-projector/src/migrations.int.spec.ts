import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { applyMigrations, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createTestDatabase } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'

const schema = 'users'
const directory = path.join(import.meta.dirname, '../prisma/migrations')

describe('migration 0002_segments', () => {
  it('has everything folded again from where the log begins, dead letters too', async () => {
    const database = await createTestDatabase(inject('databaseUrl'), { schema })
    onTestFinished(database.drop)
    const before = await mkdtemp(path.join(tmpdir(), 'migrations-'))
    onTestFinished(() => rm(before, { recursive: true }))
    await cp(path.join(directory, '0001_users'), path.join(before, '0001_users'), { recursive: true })
    await applyMigrations({ url: database.url, schema, directory: before })
    const db = openTestDb(database.url, schema)
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('user-projector', 'user-events', 0, 7)`)
    await db.$executeRaw(sql`
      INSERT INTO dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version, state)
      SELECT 'user-projector', 'user-events', 0, "offset", '{}', now(), 'unreadable', '1', state
      FROM unnest(ARRAY[3, 4, 5, 6], ARRAY['dead', 'retry', 'retried', 'discarded']) AS given ("offset", state)`)

    await applyMigrations({ url: database.url, schema, directory })

    expect(
      await db.$queryRaw(sql`SELECT 'checkpoint' FROM checkpoints UNION ALL SELECT 'letter' FROM dead_letters`),
    ).toEqual([])
  })
})

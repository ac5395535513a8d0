import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { applyMigrations } from './apply-migrations.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../test/empty-database.ts'

describe('applyMigrations', () => {
  let database: EmptyDatabase
  let directory: string
  let schema: string
  let count = 0

  beforeAll(async () => {
    database = await createEmptyDatabase(inject('databaseUrl'))
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    count += 1
    schema = `own_${count}`
    directory = await mkdtemp(path.join(tmpdir(), 'migrations-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await write('0001_things', 'CREATE TABLE things (n int PRIMARY KEY); CREATE INDEX ON things (n);')
    await write('0002_more', 'ALTER TABLE things ADD COLUMN name text;')
  })

  async function write(name: string, text: string): Promise<void> {
    await mkdir(path.join(directory, name), { recursive: true })
    await writeFile(path.join(directory, name, 'migration.sql'), text)
  }
  const apply = (own = {}) => applyMigrations({ url: database.url, schema, directory, ...own })

  it('applies the migrations of a folder to the schema once, in order', async () => {
    expect(await apply()).toEqual(['0001_things', '0002_more'])
    await database.run(`INSERT INTO ${schema}.things (n, name) VALUES (1, 'one')`)
    expect(await apply()).toEqual([])
    await write('0003_later', 'CREATE TABLE later (n int);')
    expect(await apply()).toEqual(['0003_later'])
  })

  it("records applied migrations in Prisma's format", async () => {
    await apply()
    const rows = await database.run(`
      SELECT migration_name, length(checksum) AS hex, finished_at IS NOT NULL AS finished, applied_steps_count AS steps
      FROM ${schema}._prisma_migrations ORDER BY migration_name`)
    const done = { hex: 64, finished: true, steps: 1 }
    expect(rows).toEqual([
      { migration_name: '0001_things', ...done },
      { migration_name: '0002_more', ...done },
    ])
  })

  it('applies each migration once if several processes run at the same time', async () => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => apply()))
    expect(runs.flat().toSorted()).toEqual(['0001_things', '0002_more'])
  })

  it('refuses a migration that was edited after it was applied, and applies nothing', async () => {
    await apply()
    await write('0001_things', 'CREATE TABLE things (n bigint);')
    await write('0003_later', 'CREATE TABLE later (n int);')
    await expect(apply()).rejects.toMatchObject({
      code: 'MIGRATION_EDITED',
      message: expect.stringContaining('0001_things') as string,
    })
    expect(await database.run(`SELECT to_regclass('${schema}.later') AS later`)).toEqual([{ later: null }])
  })

  it('refuses a schema of another layout, names the remedy, and applies nothing', async () => {
    await apply()
    await rm(path.join(directory, '0002_more'), { recursive: true })
    await write('0001_things', 'CREATE TABLE things (n int PRIMARY KEY, name text);')
    await write('0003_later', 'CREATE TABLE later (n int);')
    await expect(apply()).rejects.toMatchObject({
      code: 'MIGRATION_UNKNOWN',
      retryable: false,
      message: expect.stringMatching(
        /schema own_\d+ .* another layout.*0002_more.* Nothing was changed.*remove/,
      ) as string,
    })
    expect(await database.run(`SELECT to_regclass('${schema}.later') AS later`)).toEqual([{ later: null }])
  })

  it('accepts a schema to which a newer version has added migrations', async () => {
    await apply()
    await rm(path.join(directory, '0002_more'), { recursive: true })
    expect(await apply()).toEqual([])
  })

  it('rolls a failed migration back, and applies it once it is fixed', async () => {
    await write('0002_more', 'CREATE TABLE half (n int); SELECT nonsense;')
    await expect(apply()).rejects.toMatchObject({ code: 'MIGRATION_FAILED', cause: { code: '42703' } })
    expect(await database.run(`SELECT to_regclass('${schema}.half') AS half`)).toEqual([{ half: null }])
    await write('0002_more', 'CREATE TABLE half (n int);')
    expect(await apply()).toEqual(['0002_more'])
  })

  it('names a folder without a migration.sql', async () => {
    await mkdir(path.join(directory, '0003_empty'))
    await expect(apply()).rejects.toMatchObject({ code: 'MIGRATION_MISSING' })
  })

  it('applies two folders to one schema, with a table of applied migrations each', async () => {
    await apply()
    await rm(path.join(directory, '0002_more'), { recursive: true })
    await write('0001_things', 'CREATE TABLE others (n int);')
    expect(await apply({ table: '_other_migrations' })).toEqual(['0001_things'])
  })
})

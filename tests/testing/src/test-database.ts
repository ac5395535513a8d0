import { randomBytes } from 'node:crypto'
import { coreMigrations } from '@nextvisit/consumer'
import { applyMigrations, type ServiceSchemaOptions } from '@nextvisit/database'
import { Client } from 'pg'
import { readTestConfig } from './config.ts'

interface TestDatabaseOptions {
  readonly schema: string
  /** Default: the core's migrations. */
  readonly migrations?: ServiceSchemaOptions['migrations']
}

const CORE = [{ directory: coreMigrations, table: '_core_migrations' }]

/** A database for one spec, with `test` in its name. */
export interface TestDatabase {
  readonly name: string
  readonly url: string
  readonly drop: () => Promise<void>
}

/** Migrated databases by kind, one set per worker. Specs get copies, which cost less (performance.md). */
const templates = new Map<string, Promise<TestDatabase>>()

/** Creates a database with one consumer's schema. The role in `adminUrl` must be allowed to create databases. */
export async function createTestDatabase(adminUrl: string, options: TestDatabaseOptions): Promise<TestDatabase> {
  // On a server that outlives the run, no process would drop the template.
  if (readTestConfig().databaseUrl !== undefined) return createMigratedDatabase(adminUrl, options)
  const { name } = await templateFor(adminUrl, options)
  // A file copy costs less than the WAL if checkpoints do not wait for the disk.
  return createDatabase(adminUrl, `TEMPLATE ${name} STRATEGY FILE_COPY`)
}

function templateFor(adminUrl: string, options: TestDatabaseOptions): Promise<TestDatabase> {
  const kind = JSON.stringify([adminUrl, options.schema, options.migrations])
  const known = templates.get(kind)
  if (known) return known
  const template = createMigratedDatabase(adminUrl, options)
  templates.set(kind, template)
  template.catch(() => templates.delete(kind))
  return template
}

/** Creates a database like {@link createTestDatabase}, without a template. */
export async function createMigratedDatabase(
  adminUrl: string,
  { schema, migrations = CORE }: TestDatabaseOptions,
): Promise<TestDatabase> {
  const database = await createDatabase(adminUrl)
  for (const own of migrations) await applyMigrations({ url: database.url, schema, ...own })
  return database
}

async function createDatabase(adminUrl: string, copy = ''): Promise<TestDatabase> {
  const name = `nextvisit_test_${randomBytes(6).toString('hex')}`
  await run(adminUrl, `CREATE DATABASE ${name} ${copy}`)
  const own = new URL(adminUrl)
  own.pathname = `/${name}`
  return {
    name,
    url: own.href,
    drop: () => run(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

import { randomBytes } from 'node:crypto'
import { applyMigrations, type ServiceSchemaOptions } from '@nextvisit/database'
import { coreMigrations } from '@nextvisit/projection'
import { Client } from 'pg'
import { readTestConfig } from './config.ts'

export interface TestDatabaseOptions {
  readonly schema: string
  /** Default: the core's. */
  readonly migrations?: ServiceSchemaOptions['migrations']
}

const CORE = [{ directory: coreMigrations, table: '_core_migrations' }]

/** A database for one spec, with `test` in its name. */
export interface TestDatabase {
  readonly url: string
  /** Creates a copy of this database. Nothing may be connected to this one meanwhile. */
  readonly clone: () => Promise<TestDatabase>
  readonly drop: () => Promise<void>
}

/** One database of each kind is migrated in each worker, and the specs get copies, which cost less (docs/performance.md). */
const templates = new Map<string, Promise<TestDatabase>>()

/** Creates a database with one consumer's schema. The role in `adminUrl` must be allowed to create databases. */
export async function createTestDatabase(adminUrl: string, options: TestDatabaseOptions): Promise<TestDatabase> {
  const { schema, migrations = CORE } = options
  if (!isOfThisRun()) return createMigratedDatabase(adminUrl, options)
  const kind = JSON.stringify([adminUrl, schema, migrations])
  const template = templates.get(kind) ?? createMigratedDatabase(adminUrl, options)
  templates.set(kind, template)
  template.catch(() => templates.delete(kind))
  return (await template).clone()
}

/** As {@link createTestDatabase}, without a template, which nobody would drop on a server that is still there after the run. */
export async function createMigratedDatabase(
  adminUrl: string,
  { schema, migrations = CORE }: TestDatabaseOptions,
): Promise<TestDatabase> {
  const database = await createDatabase(adminUrl)
  for (const own of migrations) await applyMigrations({ url: database.url, schema, ...own })
  return database
}

/** Whether the server was started for these specs, and is gone afterwards. */
function isOfThisRun(): boolean {
  return readTestConfig().databaseUrl === undefined
}

/** Copied as files, which costs less than through the WAL where checkpoints do not wait for the disk. */
async function createDatabase(adminUrl: string, template = 'template1'): Promise<TestDatabase> {
  const name = `nextvisit_test_${randomBytes(6).toString('hex')}`
  const strategy = isOfThisRun() ? 'STRATEGY FILE_COPY' : ''
  await run(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`)
  const own = new URL(adminUrl)
  own.pathname = `/${name}`
  return {
    url: own.href,
    clone: () => createDatabase(adminUrl, name),
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

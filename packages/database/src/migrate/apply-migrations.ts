import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Client } from 'pg'
import { MigrationError } from '../errors.ts'
import { plainIdentifier } from '../sql.ts'
import { withClient, withLock } from '../connect/with-client.ts'

interface MigrationsOptions {
  /** Address with a role that may create the migrations' objects. */
  readonly url: string
  /** Created if missing. Migrations name their tables without it. */
  readonly schema: string
  /** Folder of `<0001_name>/migration.sql`, in Prisma's layout. Migrations are applied in the order of their names. */
  readonly directory: string
  /** Table of applied migrations, in Prisma's format. Each directory of a schema has its own. */
  readonly table?: string
}

interface Migration {
  readonly name: string
  readonly text: string
  readonly checksum: string
}

/** The lock of Prisma's own CLI. */
const PRISMA_LOCK = 72_707_369

/**
 * Applies the pending migrations, each in one transaction, and returns their names. Several processes may run it at once.
 * Throws {@link MigrationError} if a migration fails, if one was edited after it was applied, or if another layout created
 * the schema.
 *
 * Replaces `prisma migrate deploy`, which downloads an engine. Each understands the other's bookkeeping.
 */
export async function applyMigrations(options: MigrationsOptions): Promise<readonly string[]> {
  const { url, directory } = options
  const schema = plainIdentifier(options.schema)
  const table = `${schema}.${plainIdentifier(options.table ?? '_prisma_migrations')}`
  const migrations = await readMigrations(directory)
  return withClient(url, (client) =>
    withLock(client, PRISMA_LOCK, async () => {
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
      await client.query(createTable(table))
      const applied = await readApplied(client, table)
      requireThisLayout(schema, migrations, applied)
      const waiting = migrations.filter((migration) => isWaiting(migration, applied))
      for (const migration of waiting) await applyMigration(client, { migration, schema, table })
      return waiting.map(({ name }) => name)
    }),
  )
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(names.toSorted().map((name) => readMigration(directory, name)))
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const file = path.join(directory, name, 'migration.sql')
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new MigrationError(
      'MIGRATION_MISSING',
      `Migration ${name} has no migration.sql; add it or remove its folder.`,
      {
        cause,
      },
    )
  })
  return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
}

function createTable(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
    id varchar(36) PRIMARY KEY,
    checksum varchar(64) NOT NULL,
    finished_at timestamptz,
    migration_name varchar(255) NOT NULL,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now(),
    applied_steps_count integer NOT NULL DEFAULT 0
  )`
}

interface AppliedRow {
  readonly migration_name: string
  readonly checksum: string
  readonly finished_at: Date | null
}

async function readApplied(client: Client, table: string): Promise<ReadonlyMap<string, AppliedRow>> {
  const { rows } = await client.query<AppliedRow>(
    `SELECT migration_name, checksum, finished_at FROM ${table} WHERE rolled_back_at IS NULL`,
  )
  return new Map(rows.map((row) => [row.migration_name, row]))
}

const HOW_TO_START_AGAIN =
  'On a local stack, remove its data directory (.nextvisit) and start it again. On a server, see docs/runbooks/upgrade.md, MIGRATION_UNKNOWN.'

/**
 * Checks that the schema has this layout: every migration of this version, unchanged. A newer version may have added
 * migrations. In another layout some of these are missing or different.
 */
function requireThisLayout(
  schema: string,
  migrations: readonly Migration[],
  applied: ReadonlyMap<string, AppliedRow>,
): void {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = [...applied.keys()].filter((name) => !known.has(name))
  const hasAllOfThese = migrations.every(({ name, checksum }) => applied.get(name)?.checksum === checksum)
  if (unknown.length === 0 || hasAllOfThese) return
  throw new MigrationError(
    'MIGRATION_UNKNOWN',
    `The schema ${schema} was created by another layout of Nextvisit (${unknown.join(', ')}), which this version cannot ` +
      `continue. Nothing was changed. ${HOW_TO_START_AGAIN}`,
  )
}

function isWaiting({ name, checksum }: Migration, applied: ReadonlyMap<string, AppliedRow>): boolean {
  const row = applied.get(name)
  if (row === undefined) return true
  if (row.finished_at === null) {
    throw new MigrationError(
      'MIGRATION_INCOMPLETE',
      `Migration ${name} was begun by another tool and not finished; resolve it with \`prisma migrate resolve\`.`,
    )
  }
  if (row.checksum !== checksum) {
    throw new MigrationError(
      'MIGRATION_EDITED',
      `Migration ${name} differs from the one that created the schema. If you edited it, restore its file and add a new ` +
        `migration. If another version of Nextvisit created the schema, start with new data. ${HOW_TO_START_AGAIN}`,
    )
  }
  return false
}

async function applyMigration(
  client: Client,
  { migration, schema, table }: { migration: Migration; schema: string; table: string },
): Promise<void> {
  const { name, text, checksum } = migration
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL search_path TO ${schema}`)
    await client.query(text)
    await client.query(
      `INSERT INTO ${table} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => {})
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationError('MIGRATION_FAILED', `Migration ${name} failed and left nothing behind: ${reason}`, {
      cause,
    })
  }
}

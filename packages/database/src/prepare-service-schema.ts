import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { applyMigrations } from './apply-migrations.ts'
import { sqlStateOf } from './database-errors.ts'
import { plainIdentifier } from './plain-identifier.ts'
import { ensureDatabase, withClient, withLock } from './with-client.ts'

export interface ServiceSchemaOptions {
  /** Of a role that may create schemas and roles. The database is created if it does not exist. */
  readonly adminUrl: string
  readonly schema: string
  /** The service's login role. Roles are shared by all databases of a server, and so is the password. */
  readonly role: string
  /** Left out: the role exists and stays as it is. */
  readonly password?: string
  /** Applied in this order, each with its own table of what was applied. */
  readonly migrations: readonly { readonly directory: string; readonly table: string }[]
}

/** "NVGR": only one process changes rights in a database. The migrations' own lock is taken while this one is held. */
const GRANTS_LOCK = 0x4e_56_47_52
/** All databases of a server share the roles, but not the lock: another process changed the role at the same moment. */
const ROLE_RACES = ['23505', '42710', 'XX000']
const ROLE_ATTEMPTS = 10
const ROLE_PAUSE_MS = 50

/**
 * Creates a service's schema, its login role and the rights of that role, and applies its migrations. The role reads and
 * writes the rows of this schema. It creates nothing and sees no other schema. Can be run again at any time, and for
 * several services at once.
 */
export async function prepareServiceSchema(options: ServiceSchemaOptions): Promise<void> {
  const { adminUrl, migrations } = options
  const schema = plainIdentifier(options.schema)
  const role = plainIdentifier(options.role)
  await ensureDatabase(adminUrl)
  await withClient(adminUrl, (client) =>
    withLock(client, GRANTS_LOCK, async () => {
      if (options.password !== undefined) await prepareRole(client, role, options.password)
      for (const { directory, table } of migrations) await applyMigrations({ url: adminUrl, schema, directory, table })
      const bookkeeping = migrations.map(({ table }) => `${schema}.${plainIdentifier(table)}`)
      await client.query(grants({ schema, role, bookkeeping }))
    }),
  )
}

async function prepareRole(client: Client, role: string, password: string, attempt = 1): Promise<void> {
  try {
    const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role])
    const verb = rowCount === 0 ? 'CREATE' : 'ALTER'
    await client.query(`${verb} ROLE ${role} LOGIN PASSWORD ${client.escapeLiteral(password)}`)
  } catch (error) {
    if (attempt === ROLE_ATTEMPTS || !ROLE_RACES.includes(sqlStateOf(error) ?? '')) throw error
    await setTimeout(Math.random() * ROLE_PAUSE_MS)
    await prepareRole(client, role, password, attempt + 1)
  }
}

/** One string, so one transaction: a service that is running never loses a right in between. */
function grants({ schema, role, bookkeeping }: { schema: string; role: string; bookkeeping: string[] }): string {
  const rows = 'SELECT, INSERT, UPDATE, DELETE'
  return `
    CREATE SCHEMA IF NOT EXISTS ${schema};
    REVOKE ALL ON SCHEMA ${schema} FROM PUBLIC;
    REVOKE CREATE ON SCHEMA ${schema} FROM ${role};
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT ${rows} ON ALL TABLES IN SCHEMA ${schema} TO ${role};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT ${rows} ON TABLES TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE, SELECT ON SEQUENCES TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT EXECUTE ON FUNCTIONS TO ${role};
    ${bookkeeping.map((table) => `REVOKE ALL ON TABLE ${table} FROM ${role};`).join('\n')}
  `
}

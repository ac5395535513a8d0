import { createHmac } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { applyMigrations } from './apply-migrations.ts'
import { sqlStateOf } from '../connect/database-errors.ts'
import { plainIdentifier } from '../sql.ts'
import { ensureDatabase, withClient, withLock } from '../connect/with-client.ts'

export interface ServiceSchemaOptions {
  /** Address with a role that may create schemas and roles. The database is created if missing. */
  readonly adminUrl: string
  readonly schema: string
  /** The service's login role. All databases of a server share its roles and their passwords. */
  readonly role: string
  /** Absent: the role exists and is not changed. */
  readonly password?: string
  /** Applied in this order. Each directory has its own table of applied migrations. */
  readonly migrations: readonly { readonly directory: string; readonly table: string }[]
}

/** "NVGR": one process at a time changes the rights in a database. The migrations' lock is taken inside it. */
const GRANTS_LOCK = 0x4e_56_47_52
/** Another process changed the role at the same time. All databases of a server share its roles, but not the lock. */
const ROLE_RACES = ['23505', '42710', 'XX000']
const ROLE_ATTEMPTS = 10
const ROLE_PAUSE_MS = 50

/**
 * Creates a service's schema, its login role and the role's rights, and applies its migrations. The role can read and write
 * the rows of this schema, create nothing, and see no other schema. Idempotent; may run for several services at once.
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

/** Returns one string, which is one transaction: a running service never loses a right in between. */
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

/** Returns the default password of a login role. All processes that share the server must use the same secret. */
export function rolePassword(secret: string, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

/** Returns the address with another role. `role` and `password` must be encoded as in an address. */
export function asRole(address: string | URL, role: string, password: string): string {
  const own = new URL(address)
  own.username = role
  own.password = password
  return own.href
}

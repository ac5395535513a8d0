import { asRole, prepareServiceSchema, rolePassword } from '@nextvisit/database'
import { consumers } from '@nextvisit/services'
import type { ExternalParts } from './config.ts'
import type { StackSecrets } from './stack-secrets.ts'

/** Returns whether the environment names a database for every consumer. */
export function needsNoPostgres(external: ExternalParts): boolean {
  return (
    external.databaseUrl !== undefined ||
    consumers.every(({ databaseVariable }) => external.databaseUrls?.has(databaseVariable))
  )
}

/** Addresses of the databases. */
export interface DatabaseAddresses {
  /** URLs of the consumers, by variable. */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** URL with the role that created the schemas. */
  readonly adminUrl: string
}

/** Prepares every consumer's schema and role. `postgresUrl` is the URL of the Postgres of this stack, if any. */
export async function prepareDatabases(
  postgresUrl: string | undefined,
  external: ExternalParts,
  secrets: StackSecrets,
): Promise<DatabaseAddresses> {
  const ownAdminUrls = external.databaseUrls ?? new Map<string, string>()
  const [anOwnUrl] = ownAdminUrls.values()
  const adminUrl = external.databaseUrl ?? (postgresUrl && databaseOf(postgresUrl)) ?? anOwnUrl ?? ''
  // Roles belong to the server, so every checkout that uses the same server must derive the same passwords.
  const secret =
    (external.databaseUrl && decodeURIComponent(new URL(external.databaseUrl).password)) || secrets.databasePassword
  const databaseUrls = new Map<string, string>()
  for (const consumer of consumers) {
    const { role, databaseVariable } = consumer
    const url = ownAdminUrls.get(databaseVariable) ?? adminUrl
    const password = rolePassword(secret, role)
    await prepareServiceSchema({ ...consumer, adminUrl: url, password })
    databaseUrls.set(databaseVariable, asRole(url, role, password))
  }
  return { databaseUrls, adminUrl }
}

function databaseOf(url: string): string {
  const own = new URL(url)
  own.pathname = '/nextvisit'
  return own.href
}

import path from 'node:path'
import { prepareAllSchemas, serviceDatabases } from '@nextvisit/database'
import { coreMigrations } from '@nextvisit/projection'
import { CHECKOUT, type ExternalParts } from './config.ts'
import type { StackSecrets } from './stack-secrets.ts'

/** Whether the environment names a database for every service. */
export function needsNoPostgres(external: ExternalParts): boolean {
  return (
    external.databaseUrl !== undefined ||
    serviceDatabases.every(({ environmentVariable }) => external.databaseUrls?.has(environmentVariable))
  )
}

/** Addresses of the databases. */
export interface DatabaseAddresses {
  /** Each service's URL, by variable. */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** URL with the role that created the schemas. */
  readonly adminUrl: string
}

/** Prepares every service's schema and role. `postgresUrl` is the URL of the Postgres that we started, if any. */
export async function prepareDatabases(
  postgresUrl: string | undefined,
  external: ExternalParts,
  secrets: StackSecrets,
): Promise<DatabaseAddresses> {
  const ownAdminUrls = external.databaseUrls ?? new Map<string, string>()
  const [anOwnUrl] = ownAdminUrls.values()
  const adminUrl = external.databaseUrl ?? (postgresUrl && databaseOf(postgresUrl)) ?? anOwnUrl ?? ''
  const databaseUrls = await prepareAllSchemas({
    adminUrl,
    ownAdminUrls,
    // Roles belong to the server. So every checkout that uses the same server must derive the same passwords.
    passwordSecret:
      (external.databaseUrl && decodeURIComponent(new URL(external.databaseUrl).password)) || secrets.databasePassword,
    coreMigrations,
    servicesDirectory: path.join(CHECKOUT, 'services'),
  })
  return { databaseUrls, adminUrl }
}

function databaseOf(url: string): string {
  const own = new URL(url)
  own.pathname = '/nextvisit'
  return own.href
}

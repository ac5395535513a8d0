import path from 'node:path'
import {
  prepareServiceSchema,
  rolePassword,
  type ServiceDatabase,
  serviceDatabases,
  serviceMigrations,
} from '@nextvisit/database'
import { coreMigrations } from '@nextvisit/projection'
import type { Environment } from '@nextvisit/service-kit'
import { Command } from 'commander'
import { readEnvironment } from '../config.ts'
import { CliError, EXIT } from '../errors.ts'
import { print } from '../output.ts'

const SERVICES = path.resolve(import.meta.dirname, '../../../../services')

export interface MigrateFlags {
  readonly printAddresses?: true
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description("Prepare every service's schema and role, and apply the migrations that are not applied yet.")
    .option('--print-addresses', "print each service's own database address, password included, as NAME=address")
    .addHelpText(
      'after',
      `
DATABASE_URL is the address of a role that may make schemas and roles. A service's own address, such as
METERING_DATABASE_URL, is the one that the service uses: its role gets the password in it. Without one, the role's
password follows from that in DATABASE_URL.

Example:
  DATABASE_URL=postgresql://postgres:…@host/nextvisit nextvisit migrate`,
    )
    .action((flags: MigrateFlags) => migrate(flags))
}

export async function migrate({ printAddresses }: MigrateFlags): Promise<void> {
  const env = readEnvironment()
  for (const database of serviceDatabases) {
    const { adminUrl, ownUrl } = addressesOf(database, env)
    await prepareServiceSchema({
      adminUrl,
      schema: database.schema,
      role: database.role,
      password: decodeURIComponent(new URL(ownUrl).password),
      migrations: serviceMigrations(database.service, coreMigrations, SERVICES),
    })
    print(
      printAddresses
        ? `${database.environmentVariable}=${ownUrl}`
        : `${database.service}: schema ${database.schema} is ready`,
    )
  }
}

interface Addresses {
  /** Of a role that may make schemas and roles. */
  readonly adminUrl: string
  /** Of the service's own role. */
  readonly ownUrl: string
}

function addressesOf(database: ServiceDatabase, env: Environment): Addresses {
  const { role, environmentVariable } = database
  const admin = addressIn(env, 'DATABASE_URL')
  const own = addressIn(env, environmentVariable)
  if (own?.username === role && own.password !== '') {
    if (!admin) throw missing('DATABASE_URL')
    return { adminUrl: withUser(own, admin.username, admin.password), ownUrl: own.href }
  }
  const base = own ?? admin
  if (!base) throw missing('DATABASE_URL')
  const password = rolePassword(decodeURIComponent(base.password), role)
  return { adminUrl: base.href, ownUrl: withUser(base, role, password) }
}

function addressIn(env: Environment, name: string): URL | undefined {
  const text = env[name]
  if (text === undefined) return undefined
  const isAddress = URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)
  if (!isAddress)
    throw new CliError(`${name} must be an address like postgresql://role:password@host:5432/database.`, EXIT.usage)
  return new URL(text)
}

/** The same server and database as somebody else. Both parts as they stand in an address. */
function withUser(address: URL, username: string, password: string): string {
  const other = new URL(address)
  other.username = username
  other.password = password
  return other.href
}

function missing(name: string): CliError {
  return new CliError(
    `${name} is not set. Set it to the address of a role that may make schemas and roles.`,
    EXIT.usage,
  )
}

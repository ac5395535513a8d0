import { rolePassword, type ServiceDatabase } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import { CliError, EXIT } from './errors.ts'

export interface Addresses {
  /** Of a role that may make schemas and roles. */
  readonly adminUrl: string
  /** Of the service's own role. */
  readonly ownUrl: string
}

/** Both addresses of a service's database, out of what the environment says. Throws what to set where it does not. */
export function addressesOf(database: ServiceDatabase, env: Environment): Addresses {
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

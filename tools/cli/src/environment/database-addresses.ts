import type { Consumer } from '@nextvisit/consumer'
import { asRole, rolePassword } from '@nextvisit/database'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { notSet } from './config.ts'
import { CliError, EXIT } from '../errors.ts'

/**
 * Returns the addresses of a consumer's database: `adminUrl` for a role that may create schemas and roles, `ownUrl` for the
 * consumer's own role. Throws a {@link CliError} that names the missing variable.
 */
export function addressesOf(
  { role, databaseVariable }: Consumer,
  env: EnvironmentVariables,
): { readonly adminUrl: string; readonly ownUrl: string } {
  const admin = addressIn(env, 'DATABASE_URL')
  const own = addressIn(env, databaseVariable)
  if (own?.username === role && own.password !== '') {
    if (!admin) throw missing('DATABASE_URL', env)
    return { adminUrl: asRole(own, admin.username, admin.password), ownUrl: own.href }
  }
  const base = own ?? admin
  if (!base) throw missing('DATABASE_URL', env)
  const password = rolePassword(decodeURIComponent(base.password), role)
  return { adminUrl: base.href, ownUrl: asRole(base, role, password) }
}

function addressIn(env: EnvironmentVariables, name: string): URL | undefined {
  const text = env[name]
  if (text === undefined) return undefined
  const isAddress = URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)
  if (!isAddress)
    throw new CliError(`${name} must be an address like postgresql://role:password@host:5432/database.`, EXIT.usage)
  return new URL(text)
}

function missing(name: string, env: EnvironmentVariables): CliError {
  return new CliError(
    `${notSet(name, env)} Set it to an address with a role that may create schemas and roles.`,
    EXIT.usage,
  )
}

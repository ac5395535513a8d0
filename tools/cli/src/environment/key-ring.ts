import { type KeyRing, parseKeyRing, SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { CliError, EXIT } from '../errors.ts'
import { notSet } from './config.ts'

/** Reads the keys of NEXTVISIT_SECRET_KEY. Throws a {@link CliError} with the remedy if it is invalid; undefined: it is not set. */
export function knownKeyRing(env: EnvironmentVariables): KeyRing | undefined {
  const read = readKeyRing(env)
  if (read.outcome === 'invalid') throw new CliError(`${read.message}.`, EXIT.usage)
  return read.outcome === 'ok' ? read.keyRing : undefined
}

/** Says that NEXTVISIT_SECRET_KEY is not set, and where its value is. */
export function noKeyRing(env: EnvironmentVariables): CliError {
  return new CliError(
    `${notSet(SECRET_KEY_VARIABLE, env)} Records of users are sealed: set it to the value of the services. A local stack keeps it as ` +
      'secretKey in secrets.json of its data folder, and commands read it while the stack runs.',
    EXIT.usage,
  )
}

/** Reads the keys of NEXTVISIT_SECRET_KEY. */
export function readKeyRing(
  env: EnvironmentVariables,
):
  | { readonly outcome: 'ok'; readonly keyRing: KeyRing }
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'invalid'; readonly message: string } {
  const value = env[SECRET_KEY_VARIABLE] ?? ''
  if (value === '') return { outcome: 'absent' }
  const parsed = parseKeyRing(value)
  if (parsed.outcome === 'ok') return { outcome: 'ok', keyRing: parsed.ring }
  return { outcome: 'invalid', message: `${SECRET_KEY_VARIABLE}: ${parsed.reason}` }
}

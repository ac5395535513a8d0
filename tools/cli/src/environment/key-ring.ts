import { type KeyRing, parseKeyRing, SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import type { EnvironmentVariables } from '@nextvisit/service-kit'

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

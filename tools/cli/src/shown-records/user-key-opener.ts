import { type DataKey, keyNameOf, type KeyRing, SECRET_KEY_VARIABLE, unwrapDataKey } from '@nextvisit/sealing'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import type { StoredUserKeys } from '@nextvisit/user-keys'
import { knownKeyRing, noKeyRing } from '../environment/key-ring.ts'
import { CliError, EXIT } from '../errors.ts'

/** Number of opened keys in memory, about 1 KB each. */
const OPENED_KEYS = 10_000

/** Opens keys of users. */
export interface UserKeyOpener {
  /** undefined: the key is destroyed, or its text is damaged. Throws a {@link CliError} if NEXTVISIT_SECRET_KEY lacks its key. */
  readonly keyOf: (userId: string, keyId: string) => DataKey | undefined
}

/** Throws a {@link CliError} with the remedy if there are keys, and NEXTVISIT_SECRET_KEY is not set or invalid. */
export function createUserKeyOpener(keys: StoredUserKeys, env: EnvironmentVariables): UserKeyOpener {
  const ring = keys.size === 0 ? undefined : knownKeyRing(env)
  if (keys.size > 0 && !ring) throw noKeyRing(env)
  const opened = new Map<string, DataKey | undefined>()

  return {
    keyOf: (userId, keyId) => {
      const name = keyNameOf({ userId, keyId })
      if (opened.has(name)) return opened.get(name)
      if (opened.size >= OPENED_KEYS) opened.clear()
      const wrapped = keys.find(userId, keyId)
      const key = wrapped && ring ? open(ring, wrapped) : undefined
      opened.set(name, key)
      return key
    },
  }
}

function open(ring: KeyRing, wrapped: Parameters<typeof unwrapDataKey>[1]): DataKey | undefined {
  const unwrapped = unwrapDataKey(ring, wrapped)
  if (unwrapped.outcome !== 'missing-key') return unwrapped.outcome === 'unwrapped' ? unwrapped.key : undefined
  throw new CliError(
    `${SECRET_KEY_VARIABLE} lacks the key ${unwrapped.keyId}, which encrypts keys of users. Set it to the value of the services: see docs/runbooks/rotate-secrets.md.`,
    EXIT.usage,
  )
}

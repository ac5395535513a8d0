import type { FetchedRecord } from '@nextvisit/log'
import { sealedWith } from '@nextvisit/sealing'

/** A change of a user's data key. */
export interface UserKeyRecord {
  readonly userId: string
  readonly keyId: string
  /** undefined: the key is destroyed. */
  readonly wrapped: string | undefined
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const KEY = new RegExp(`^(${UUID})/(${UUID})$`)

/** Reads a record of `user-keys`. undefined: another program wrote it, and it is neither a key nor its end. */
export function readKeyRecord({ key, value }: Pick<FetchedRecord, 'key' | 'value'>): UserKeyRecord | undefined {
  const [, userId, keyId] = KEY.exec(key?.toString('latin1') ?? '') ?? []
  if (userId === undefined || keyId === undefined) return undefined
  if (value === null) return { userId, keyId, wrapped: undefined }
  const wrapped = value.toString('latin1')
  return sealedWith(wrapped) === undefined ? undefined : { userId, keyId, wrapped }
}

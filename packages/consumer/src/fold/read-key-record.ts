import type { FetchedRecord } from '@nextvisit/log'
import { type KeyPlace, parseKeyName, sealedWith } from '@nextvisit/sealing'

/** A change of a user's data key. */
export interface UserKeyRecord extends KeyPlace {
  /** undefined: the key is destroyed. */
  readonly wrapped: string | undefined
}

/** Reads a record of `user-keys`. undefined: another program wrote it, and it is neither a key nor its end. */
export function readKeyRecord({ key, value }: Pick<FetchedRecord, 'key' | 'value'>): UserKeyRecord | undefined {
  const place = parseKeyName(key?.toString('latin1') ?? '')
  if (!place) return undefined
  if (value === null) return { ...place, wrapped: undefined }
  const wrapped = value.toString('latin1')
  return sealedWith(wrapped) === undefined ? undefined : { ...place, wrapped }
}

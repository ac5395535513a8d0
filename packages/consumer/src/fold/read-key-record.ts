import type { FetchedRecord } from '@nextvisit/log'
import { keyNameOf, type KeyPlace, parseKeyName, sealedWith } from '@nextvisit/sealing'

/** A change of a user's data key. */
export interface UserKeyRecord extends KeyPlace {
  /** undefined: the key is destroyed. */
  readonly wrapped: string | undefined
}

/** Reads the last value of each key among records, by `keyNameOf`. Calls `onNoKey` for each record that is no key. */
export function readKeyRecords(
  records: readonly FetchedRecord[],
  onNoKey: (record: FetchedRecord) => void,
): ReadonlyMap<string, UserKeyRecord> {
  const changes = new Map<string, UserKeyRecord>()
  for (const record of records) {
    const change = readKeyRecord(record)
    if (change) changes.set(keyNameOf(change), change)
    else onNoKey(record)
  }
  return changes
}

/** Reads a record of `user-keys`. undefined: another program wrote it, and it is neither a key nor its end. */
function readKeyRecord({ key, value }: Pick<FetchedRecord, 'key' | 'value'>): UserKeyRecord | undefined {
  const place = parseKeyName(key?.toString('latin1') ?? '')
  if (!place) return undefined
  if (value === null) return { ...place, wrapped: undefined }
  const wrapped = value.toString('latin1')
  return sealedWith(wrapped) === undefined ? undefined : { ...place, wrapped }
}

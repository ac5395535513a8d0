import type { FetchedRecord } from '@nextvisit/log'
import { keyNameOf, type KeyPlace, parseKeyName } from '@nextvisit/sealing'

/** Returns the key that a record of the topic of keys is about, whatever its value. undefined: another program wrote it. */
export function keyOfRecord({ key }: Pick<FetchedRecord, 'key'>): (KeyPlace & { readonly name: string }) | undefined {
  const place = parseKeyName(key?.toString('latin1') ?? '')
  return place && { ...place, name: keyNameOf(place) }
}

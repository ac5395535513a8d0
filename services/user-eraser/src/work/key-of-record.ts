import type { FetchedRecord } from '@nextvisit/log'

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const KEY = new RegExp(`^(${UUID})/(${UUID})$`)

/** Returns the key that a record of the topic of keys is about, whatever its value. undefined: another program wrote it. */
export function keyOfRecord({
  key,
}: Pick<FetchedRecord, 'key'>): { readonly name: string; readonly userId: string; readonly keyId: string } | undefined {
  const [name, userId, keyId] = KEY.exec(key?.toString('latin1') ?? '') ?? []
  return name === undefined || userId === undefined || keyId === undefined ? undefined : { name, userId, keyId }
}

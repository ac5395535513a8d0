/** The user and the id of a data key. */
export interface KeyPlace {
  readonly userId: string
  readonly keyId: string
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const NAME = new RegExp(`^(${UUID})/(${UUID})$`)

/** Names a data key as the topic `user-keys` does. */
export function keyNameOf({ userId, keyId }: KeyPlace): string {
  return `${userId}/${keyId}`
}

/** A record of the topic `user-keys`. */
export interface KeyRecord extends KeyPlace {
  /** {@link keyNameOf} the key. */
  readonly name: string
  /** The value, unchecked: another program may have written it. null: the key is destroyed. */
  readonly wrapped: string | null
}

/** Parses a record of the topic `user-keys`. undefined: its key names no data key, so another program wrote it. */
export function parseKeyRecord({
  key,
  value,
}: {
  readonly key: Buffer | null
  readonly value: Buffer | null
}): KeyRecord | undefined {
  const name = key?.toString('latin1') ?? ''
  const [, userId, keyId] = NAME.exec(name) ?? []
  if (userId === undefined || keyId === undefined) return undefined
  return { name, userId, keyId, wrapped: value && value.toString('latin1') }
}

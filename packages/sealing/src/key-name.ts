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

/** Parses the name of a data key. undefined: another program wrote it. */
export function parseKeyName(name: string): KeyPlace | undefined {
  const [, userId, keyId] = NAME.exec(name) ?? []
  return userId === undefined || keyId === undefined ? undefined : { userId, keyId }
}

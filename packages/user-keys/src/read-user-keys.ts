import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { type LogConnection, readLog, readWatermarks } from '@nextvisit/log'
import { keyNameOf, parseKeyRecord, type WrappedKey } from '@nextvisit/sealing'

interface ReadUserKeysOptions {
  /** Partitions to read. Default: all. */
  readonly partitions?: readonly number[] | undefined
  /** Default: the keys of every user. */
  readonly isWanted?: (userId: string) => boolean
  /** For specs, which use their own topic. */
  readonly topic?: string
}

/** Wrapped keys of users as the topic has them: without those that are destroyed. */
export interface StoredUserKeys {
  readonly size: number
  readonly find: (userId: string, keyId: string) => WrappedKey | undefined
}

/**
 * Reads `user-keys` to its present end, for tools that read records of many users. A key is published before the record that it
 * seals, so a reader that knows the end of `user-events` first has each key that is not destroyed. Memory is about 350 bytes
 * for each key: 350 MB for a million users with one key each, a twelfth of it for one of 12 partitions.
 */
export async function readUserKeys(
  connection: LogConnection,
  { partitions, isWanted = () => true, topic = USER_KEYS_TOPIC }: ReadUserKeysOptions = {},
): Promise<StoredUserKeys> {
  /** Wrapped keys by `userId/keyId`. */
  const wrapped = new Map<string, string>()
  const marks = await readWatermarks(connection, topic)
  const wanted = partitions ?? [...marks.keys()]
  await readLog(connection, {
    topic,
    from: new Map(wanted.map((partition) => [partition, marks.get(partition)?.low ?? 0n])),
    until: 'end',
    withStandIns: true,
    onBatch: ({ records }) => {
      for (const record of records) {
        const key = parseKeyRecord(record)
        if (!key || !isWanted(key.userId)) continue
        if (key.wrapped === null) wrapped.delete(key.name)
        else wrapped.set(key.name, key.wrapped)
      }
    },
  })
  return {
    size: wrapped.size,
    find: (userId, keyId) => {
      const text = wrapped.get(keyNameOf({ userId, keyId }))
      return text === undefined ? undefined : { userId, keyId, wrapped: text }
    },
  }
}

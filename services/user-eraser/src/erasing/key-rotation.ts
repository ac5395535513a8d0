import type { WorkParts } from '@nextvisit/consumer'
import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { isFencedKey } from '@nextvisit/domain'
import type { FetchedRecord, Watermarks } from '@nextvisit/log'
import { keyNameOf, type KeyRing, parseKeyRecord, rewrapDataKey, sealedWith, type WrappedKey } from '@nextvisit/sealing'
import { readKeysUntil } from '../projection.ts'
import { publishKeys } from './publish-keys.ts'
import { readPartition } from './read-partition.ts'

interface KeyRotationParts extends Pick<WorkParts, 'db' | 'connection' | 'publisher' | 'logger'> {
  readonly logAdmin: Pick<WorkParts['logAdmin'], 'watermarks'>
  readonly keyRing: KeyRing
  /** Default: `user-keys`. */
  readonly topic?: string | undefined
  /** Keys that a round encrypts again at most. Default: {@link KEYS_A_ROUND}. */
  readonly keysARound?: number
}

/** A key of a round takes about 0.5 KB of memory. */
const KEYS_A_ROUND = 20_000
const KEYS_A_PUBLISH = 1_000
/** Later, only gateways that were not restarted yet publish keys under an older one. */
const FOLLOW_EVERY_MS = 10_000

/**
 * Creates the rotation of `user-keys`: it publishes each key that an older key of the ring encrypts again, encrypted by the
 * newest one. The data key and its id stay the same. It does nothing while the ring has one key. After a restart, it reads the
 * topic from its beginning again, and leaves out keys whose last value is of the newest key.
 *
 * It must not run while the sweep does, which destroys keys: of both, the later record counts. It leaves out keys of erased users,
 * and the sweep finds those whose users are erased at the same moment.
 */
export function createKeyRotation(parts: KeyRotationParts) {
  const { db, connection, logAdmin, publisher, logger, keyRing, topic = USER_KEYS_TOPIC } = parts
  const { keysARound = KEYS_A_ROUND } = parts
  const ending = new AbortController()
  const { signal } = ending
  /** By partition, where the next round goes on. */
  const positions = new Map<number, bigint>()
  let lastPartition = -1
  let followAtMs = 0

  /** Encrypts the next keys of one partition again. */
  async function run(): Promise<void> {
    if (keyRing.keyIds.length < 2 || !publisher || performance.now() < followAtMs) return
    const waiting = [...(await logAdmin.watermarks(topic))]
      .map(([partition, { low, high }]) => {
        const position = positions.get(partition) ?? low
        // The topic was created again, or compaction has removed its beginning.
        return { partition, low: position > high || position < low ? low : position, high }
      })
      .filter(({ low, high }) => low < high)
      .toSorted((a, b) => a.partition - b.partition)
    // In turn: one with much traffic must not delay the others.
    const next = waiting.find(({ partition }) => partition > lastPartition) ?? waiting[0]
    if (!next) {
      followAtMs = performance.now() + FOLLOW_EVERY_MS
      return
    }
    lastPartition = next.partition
    const { keys, nextOffset } = await collect(next.partition, next)
    await publishAgain(next.partition, keys)
    positions.set(next.partition, nextOffset)
  }

  /**
   * Reads a partition to its end. Returns the first keys whose last value is of an older key of the ring, up to the limit, and
   * where the next round goes on.
   */
  async function collect(
    partition: number,
    marks: Watermarks,
  ): Promise<{ readonly keys: readonly WrappedKey[]; readonly nextOffset: bigint }> {
    const keys = new Map<string, WrappedKey>()
    const { high } = marks
    let nextOffset = high
    const take = (record: FetchedRecord): void => {
      const key = parseKeyRecord(record)
      if (!key) return
      const { name, userId, keyId, wrapped } = key
      if (wrapped === null || !isOlder(wrapped)) keys.delete(name)
      else if (nextOffset === high && keys.size === keysARound && !keys.has(name)) nextOffset = record.offset
      else if (nextOffset === high || keys.has(name)) keys.set(name, { userId, keyId, wrapped })
    }
    await readPartition({ connection, logger, topic, signal }, partition, marks, take)
    return { keys: [...keys.values()], nextOffset }
  }

  function isOlder(wrapped: string): boolean {
    const keyId = sealedWith(wrapped)
    return keyId !== undefined && keyId !== keyRing.newestKeyId && keyRing.keyIds.includes(keyId)
  }

  async function publishAgain(partition: number, keys: readonly WrappedKey[]): Promise<void> {
    let published = 0
    for (let from = 0; from < keys.length; from += KEYS_A_PUBLISH) {
      signal.throwIfAborted()
      const some = keys.slice(from, from + KEYS_A_PUBLISH)
      const keysUntil = await readKeysUntil(db, [...new Set(some.map(({ userId }) => userId))])
      const rewrapped = some.flatMap((key) => {
        const keysUntilMs = keysUntil.get(key.userId)
        if (keysUntilMs !== undefined && isFencedKey(key.keyId, { keysUntilMs })) return []
        return rewrapDataKey(keyRing, key) ?? []
      })
      const values = rewrapped.map((key) => ({ name: keyNameOf(key), value: key.wrapped }))
      await publishKeys({ publisher, topic }, partition, values, UNPUBLISHED)
      published += rewrapped.length
    }
    if (published > 0) logger.info({ partition, keys: published, secretKeyId: keyRing.newestKeyId }, REWRAPPED)
  }

  return { run, stop: () => ending.abort(new Error('The rotation of keys was stopped')) }
}

const REWRAPPED = 'Encrypted keys of users with the newest key of NEXTVISIT_SECRET_KEY'

const UNPUBLISHED = {
  code: 'REWRAPPED_UNPUBLISHED',
  message: 'Keys of users could not be published under the newest key now',
}

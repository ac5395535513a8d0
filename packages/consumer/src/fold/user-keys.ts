import type { CommitDb } from '@nextvisit/database'
import { createOnDemandReader, type LogConnection, type Logger, type Watermarks } from '@nextvisit/log'
import {
  type DataKey,
  keyNameOf,
  type KeyPlace,
  type KeyRing,
  sealedWith,
  unwrapDataKey,
  type WrappedKey,
} from '@nextvisit/sealing'
import { LRUCache } from 'lru-cache'
import { orKeysUnreadable, SecretKeyMissingError, UserKeysUnreadableError } from '../core/errors.ts'
import { recordTimeOf, userKeys } from '../core/tables.ts'
import { outsideLog, unfoldedPartOf } from './batch-in-log.ts'
import { type Checkpoint, openCheckpoints, type PartitionCheckpoint } from './checkpoint.ts'
import { commit } from './commit.ts'
import { deleteFencedKeys } from './erase-users.ts'
import type { PartitionBatch } from './partition-batch.ts'
import { readKeyRecords } from './read-key-record.ts'

/** A data key that a sealed record names. */
export interface WantedKey extends KeyPlace {
  readonly partition: number
}

/** The data keys of users, by which a projection opens sealed records. */
export interface UserKeys {
  /**
   * Returns the wanted keys by their names (see {@link keyNameOf}); `damaged`: the stored text cannot be decrypted. A destroyed key is
   * missing: keys are acknowledged before the records that they seal, and `user-keys` is read to the end that it has now before a key
   * counts as destroyed. Throws UserKeysUnreadableError and SecretKeyMissingError, and errors of Postgres. Wanted keys must be
   * of records that are in the log.
   */
  readonly find: (
    db: CommitDb,
    wanted: ReadonlyMap<string, WantedKey>,
  ) => Promise<ReadonlyMap<string, DataKey | 'damaged'>>
  /** Reads the keys of these partitions that were published or destroyed since the last reading. Throws like `find`. */
  readonly pull: (db: CommitDb, partitions: readonly number[]) => Promise<void>
  /** Removes the keys of all other partitions from memory, and caches none of them from now on. */
  readonly keepOnly: (partitions: readonly number[]) => void
  readonly stop: () => void
}

interface UserKeysParts {
  readonly ring: KeyRing
  readonly projection: string
  /** `USER_KEYS_TOPIC`, except in specs. */
  readonly topic: string
  readonly connection: LogConnection
  /** Returns the range of each partition of the topic now. */
  readonly readMarks: (topic: string) => Promise<ReadonlyMap<number, Watermarks>>
  readonly logger?: Logger | undefined
  /** Longest duration of a pull, ms: a later attempt continues it. Default: {@link PULL_WITHIN_MS}. */
  readonly pullWithinMs?: number
}

/** An open key takes about 0.8 KB. */
const MAX_IN_MEMORY = 50_000
/** Bounds a commit of keys. */
const MAX_KEYS_A_COMMIT = 2_000
/** A million keys take longer. The process must show that it makes progress, and its alarms why records wait. */
const PULL_WITHIN_MS = 20_000

/**
 * Reads the data keys of users: from memory, from the table `user_keys`, or from the topic `user-keys`, whose partition has the
 * number of the sealed record's. The owner of the records pulls it into the table when it meets an unknown key, and now and then
 * for destroyed ones. It commits under the checkpoint of the topic, so of two owners only one writes.
 */
export function createUserKeys(parts: UserKeysParts): UserKeys {
  const { ring, projection, topic, connection, readMarks, logger, pullWithinMs = PULL_WITHIN_MS } = parts
  /** A wrapped key is decrypted when a record needs it. */
  const cache = new LRUCache<string, DataKey | string>({ max: MAX_IN_MEMORY })
  const options = { maxBatchRecords: MAX_KEYS_A_COMMIT }
  const reader = createOnDemandReader(connection, topic, logger ? { ...options, logger } : options)
  /** By partition, where this process has left its checkpoint. */
  const places = new Map<number, string>()
  /** The partitions whose keys may be cached. Absent: all, as in a replay. */
  let owned: ReadonlySet<number> | undefined
  /** Rows that were read before keys were destroyed must not enter the cache. */
  let destructions = 0
  let lastPull: Promise<void> = Promise.resolve()

  /**
   * Moves the keys that `lookUp` knows from `missing` to `found`. A value that the ring cannot decrypt counts only at the end of
   * the topic: after a rotation, a later value of the same key follows.
   */
  function take({ missing, found, isAtEnd }: Search, lookUp: (name: string) => DataKey | string | undefined): void {
    for (const [name, { partition, userId, keyId }] of missing) {
      const known = lookUp(name)
      if (known === undefined || (typeof known === 'string' && !isAtEnd && !canUnwrap(known))) continue
      missing.delete(name)
      found.set(name, typeof known === 'string' ? unwrap({ userId, keyId, wrapped: known }, partition) : known)
    }
  }

  function canUnwrap(wrapped: string): boolean {
    const secretKeyId = sealedWith(wrapped)
    return secretKeyId === undefined || ring.keyIds.includes(secretKeyId)
  }

  function unwrap(stored: WrappedKey, partition: number): DataKey | 'damaged' {
    const unwrapped = unwrapDataKey(ring, stored)
    if (unwrapped.outcome === 'missing-key') throw new SecretKeyMissingError(unwrapped.keyId)
    if (unwrapped.outcome === 'damaged') return 'damaged'
    remember(keyNameOf(stored), partition, unwrapped.key)
    return unwrapped.key
  }

  /** Caches no key of a lost partition: this process would not learn that the key was destroyed. */
  function remember(name: string, partition: number, key: DataKey | string): void {
    if (!owned || owned.has(partition)) cache.set(name, key)
  }

  function takeCached(search: Search): void {
    take(search, (name) => cache.get(name))
  }

  async function takeStored(db: CommitDb, search: Search): Promise<void> {
    if (search.missing.size === 0) return
    const before = destructions
    const rows = await userKeys.selectByKeys(db, [...search.missing.values()])
    const wrapped = new Map(rows.map((row) => [keyNameOf(row), row.wrapped]))
    take(search, (name) => wrapped.get(name))
    // Such a row may be of a destroyed key.
    if (before !== destructions) for (const name of wrapped.keys()) cache.delete(name)
  }

  /** Pulls one after the other: they would read the same keys. */
  function inTurn(pullNext: () => Promise<void>): Promise<void> {
    const own = lastPull.then(pullNext)
    lastPull = own.catch(() => {})
    return own
  }

  /** Reads partitions until `isDone`, and at most up to their ends. With `isDone`, it asks for the ends only after a first look. */
  async function pull(db: CommitDb, partitions: readonly number[], isDone?: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + pullWithinMs
    const keys = partitions.map((partition) => ({ projection, topic, partition }))
    let ends: ReadonlyMap<number, bigint> | undefined
    for (let reads = 0; ; reads += 1) {
      // Reads them each time: another owner may move them, and a replay may swap the table.
      const checkpoints = await openCheckpoints(db, keys)
      if (checkpoints.some(isMoved)) forget()
      checkpoints.forEach(notePlace)
      if (reads > 0 || !isDone) ends ??= await readEnds(checkpoints)
      const behind = checkpoints.filter(({ key, current }) => {
        return current().nextOffset < (ends?.get(key.partition) ?? Infinity)
      })
      if (behind.length === 0) return
      // The first read may return nothing beyond the checkpoint.
      if (reads > 1 && performance.now() > giveUpAt) throw new UserKeysUnreadableError(leftIn(behind, ends))
      await pullOnce(db, behind, { isFirst: reads === 0 })
      // Usually, the first look finds the keys.
      if (isDone?.()) return
    }
  }

  /** Returns true if another owner has moved a checkpoint since this process did. It may have destroyed keys. */
  function isMoved({ key, current }: PartitionCheckpoint): boolean {
    const known = places.get(key.partition)
    return known !== undefined && known !== placeOf(current())
  }

  function notePlace({ key, current }: PartitionCheckpoint): void {
    places.set(key.partition, placeOf(current()))
  }

  /**
   * Returns the end of each partition. Only the broker's answer to this question includes all acknowledged keys. An end before
   * the checkpoint, which was read earlier, is that of another log.
   */
  async function readEnds(checkpoints: readonly PartitionCheckpoint[]): Promise<ReadonlyMap<number, bigint>> {
    return orKeysUnreadable(async () => {
      const marks = await readMarks(topic)
      return new Map(
        checkpoints.map(({ key, current }) => {
          const log = marks.get(key.partition)
          if (!log) throw new UserKeysUnreadableError(`${topic} lacks the partition ${key.partition}.`)
          const outside = outsideLog(key, current().nextOffset, log)
          if (outside) throw outside
          return [key.partition, log.high] as const
        }),
      )
    })
  }

  async function pullOnce(
    db: CommitDb,
    checkpoints: readonly PartitionCheckpoint[],
    { isFirst }: { readonly isFirst: boolean },
  ): Promise<void> {
    const positions = new Map(
      checkpoints.map(({ key, current }) => {
        return [key.partition, isFirst ? recordBefore(current()) : current().nextOffset]
      }),
    )
    const batches = await orKeysUnreadable(() => reader.read(positions))
    for (const checkpoint of checkpoints) {
      const own = batches.filter(({ partition }) => partition === checkpoint.key.partition)
      for (const batch of own) {
        const unread = await orKeysUnreadable(() => unfoldedPartOf(checkpoint, batch, undefined))
        if (unread && !(await store(db, unread))) break
      }
    }
  }

  /** Commits a batch of keys. Returns false if another owner was faster. */
  async function store(db: CommitDb, { checkpoint, records, nextOffset }: PartitionBatch): Promise<boolean> {
    const { partition } = checkpoint.key
    const changes = readKeyRecords(records, ({ offset }) => {
      logger?.warn({ topic, partition, offset: String(offset) }, NO_KEY)
    })
    const published = [...changes.values()].flatMap(({ userId, keyId, wrapped }) => {
      return wrapped === null ? [] : { userId, keyId, wrapped, partition }
    })
    const destroyed = [...changes.values()].filter(({ wrapped }) => wrapped === null)
    const statements = [
      ...userKeys.upsert(published),
      ...userKeys.deleteByKeys(destroyed),
      ...deleteFencedKeys(published.map(({ userId }) => userId)),
    ]
    const last = records.at(-1)
    const to = { nextOffset, recordTime: last && recordTimeOf(last) }
    const stale = await commit(db, [{ checkpoint, to }], statements)
    if (stale.size > 0) return false
    notePlace(checkpoint)
    if (destroyed.length > 0) destructions += 1
    for (const [name, { wrapped }] of changes) {
      if (wrapped === null) cache.delete(name)
      else remember(name, partition, wrapped)
    }
    return true
  }

  function forget(): void {
    destructions += 1
    cache.clear()
  }

  return {
    find: async (db, wanted) => {
      const search: Search = { missing: new Map(wanted), found: new Map(), isAtEnd: false }
      takeCached(search)
      await takeStored(db, search)
      if (search.missing.size === 0) return search.found
      const partitions = new Set(Array.from(search.missing.values(), ({ partition }) => partition))
      const isDone = (): boolean => {
        takeCached(search)
        return search.missing.size === 0
      }
      await inTurn(() => pull(db, [...partitions], isDone))
      await takeStored(db, { ...search, isAtEnd: true })
      return search.found
    },
    pull: (db, partitions) => inTurn(() => pull(db, partitions)),
    keepOnly: (partitions) => {
      const kept = new Set(partitions)
      if (!owned || [...owned].some((partition) => !kept.has(partition))) forget()
      owned = kept
    },
    stop: reader.stop,
  }
}

/** The keys of one call of `find`. */
interface Search {
  readonly missing: Map<string, WantedKey>
  readonly found: Map<string, DataKey | 'damaged'>
  /** The topic was read to its end. */
  readonly isAtEnd: boolean
}

const NO_KEY = 'A record of the topic of user keys is no key; it is ignored'

/**
 * Returns the offset of the record before the checkpoint. It must be the one that was read, unless compaction has removed it.
 * Otherwise this is another log: its keys below the checkpoint would count as destroyed.
 */
function recordBefore({ nextOffset, recordTime }: Checkpoint): bigint {
  return recordTime === undefined ? nextOffset : nextOffset - 1n
}

/** Every commit raises the version, and a replay brings another table. */
function placeOf({ table, version }: Checkpoint): string {
  return `${table}/${version}`
}

function leftIn(checkpoints: readonly PartitionCheckpoint[], ends: ReadonlyMap<number, bigint> | undefined): string {
  const left = checkpoints.map(({ key: { topic, partition }, current }) => {
    return `${topic}/${partition} is read up to ${current().nextOffset} of ${ends?.get(partition)}`
  })
  return `${left.join(', ')}. Reading continues.`
}

import { type CommitDb, sql } from '@nextvisit/database'
import { isFencedKey } from '@nextvisit/domain'
import { type FetchedBatch, type LogConnection, type Logger, readLog, type Watermarks } from '@nextvisit/log'
import { fingerprintOf, parseKeyRecord } from '@nextvisit/sealing'
import { readKeysUntil } from '../projection.ts'
import { keyCursors } from '../tables.ts'
import { type FoundKey, insertLeftKeys } from './key-rows.ts'
import type { KeySettings } from './key-settings.ts'

const FOLLOW_AT_LEAST_EVERY_MS = 60_000
const FOLLOW_AT_MOST_EVERY_MS = 1_000

interface KeyTailParts {
  readonly db: CommitDb
  readonly connection: LogConnection
  readonly logger: Logger
  readonly topic: string
  readonly signal: AbortSignal
}

/** Creates the search for keys of erased users among the newest records, also long after the erasure has completed. */
export function createKeyTail({ db, connection, logger, topic, signal }: KeyTailParts) {
  let followAtMs = 0
  const isDue = (): boolean => performance.now() >= followAtMs

  /** Searches the records since the last call. Returns the partitions with such a key. */
  async function follow(
    marks: ReadonlyMap<number, Watermarks>,
    { segmentMs }: KeySettings,
  ): Promise<ReadonlySet<number>> {
    const found = new Set<number>()
    if (!isDue()) return found
    const positions = await readPositions(marks)
    if (positions.size > 0) {
      await readLog(connection, {
        topic,
        from: positions,
        until: new Map([...marks].map(([partition, { high }]) => [partition, high])),
        withStandIns: true,
        signal,
        logger,
        onBatch: async (batch) => {
          if (await searchBatch(batch)) found.add(batch.partition)
        },
      })
      signal.throwIfAborted()
    }
    const everyMs = Math.min(Math.max(segmentMs / 4, FOLLOW_AT_MOST_EVERY_MS), FOLLOW_AT_LEAST_EVERY_MS)
    followAtMs = performance.now() + everyMs
    return found
  }

  /** Returns where to go on in partitions with new records. A topic that was created again is read from its beginning. */
  async function readPositions(marks: ReadonlyMap<number, Watermarks>): Promise<ReadonlyMap<number, bigint>> {
    const stored = await keyCursors.select(db, sql`FROM key_cursors`)
    const cursors = new Map(stored.map(({ partition, nextOffset }) => [partition, BigInt(nextOffset)]))
    const positions = new Map<number, bigint>()
    for (const [partition, { low, high }] of marks) {
      const cursor = cursors.get(partition) ?? low
      const position = cursor > high || cursor < low ? low : cursor
      if (position < high) positions.set(partition, position)
    }
    return positions
  }

  async function searchBatch({ partition, records, nextOffset }: FetchedBatch): Promise<boolean> {
    const published = records.flatMap((record) => {
      const key = parseKeyRecord(record)
      if (!key || key.wrapped === null) return []
      const { name, userId, keyId, wrapped } = key
      return [{ name, userId, keyId, fingerprint: fingerprintOf({ wrapped }) }]
    })
    const keysUntil = await readKeysUntil(db, [...new Set(published.map(({ userId }) => userId))])
    const fenced = published.filter(({ userId, keyId }): boolean => {
      const keysUntilMs = keysUntil.get(userId)
      return keysUntilMs !== undefined && isFencedKey(keyId, { keysUntilMs })
    })
    const keys = [...new Map<string, FoundKey>(fenced.map(({ name, ...key }) => [name, key])).values()]
    await db.executeAll([...insertLeftKeys(partition, keys), ...keyCursors.upsert([{ partition, nextOffset }])])
    return keys.length > 0
  }

  return { isDue, follow }
}

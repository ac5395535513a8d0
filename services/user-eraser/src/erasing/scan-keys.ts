import type { CommitDb } from '@nextvisit/database'
import { isFencedKey, keyTimeMs, newKeyTimeMs } from '@nextvisit/domain'
import type { FetchedRecord, Watermarks } from '@nextvisit/log'
import { fingerprintOf, parseKeyRecord } from '@nextvisit/sealing'
import type { KeySettings } from './key-settings.ts'
import { type FoundKey, type LastFence, readFences } from './key-rows.ts'
import { type PartitionParts, readPartition } from './read-partition.ts'

interface FoundKeys {
  readonly keys: readonly FoundKey[]
  /** Names of keys. */
  readonly toDestroy: readonly string[]
  /** Users with a key that was published before their last erasure was requested, and whose id is of a later time. */
  readonly uncovered: readonly string[]
}

interface ScanParts extends PartitionParts {
  readonly db: CommitDb
  readonly partition: number
  readonly marks: Watermarks
  /** The erased users to look for. */
  readonly userIds: ReadonlySet<string>
  readonly settings: KeySettings
}

/** For clocks of brokers and gateways that differ slightly, ms. */
const MARGIN_MS = 200

/**
 * Reads a partition of the topic of keys from its beginning. Returns the fenced keys of erased users whose values it still has,
 * the keys that need a tombstone: those without one, and one of the others if no segment was closed since its tombstone; and the users
 * with an uncovered key.
 */
export async function scanKeys(parts: ScanParts): Promise<FoundKeys> {
  const { db, partition, marks, userIds, settings } = parts
  const fences = await readFences(db, [...userIds])
  const uncovered = new Map<string, string>()
  const found = new Map<string, FoundKey & { readonly destroyedMs: number | undefined }>()
  let lastMs = 0
  await readPartition(parts, partition, marks, (record) => {
    lastMs = Math.max(lastMs, record.timestampMs)
    const key = parseKeyRecord(record)
    const fence = key && fences.get(key.userId)
    if (!key || !fence) return
    const { name, userId, keyId, wrapped } = key
    if (!isFencedKey(keyId, fence)) {
      if (isUncovered(record, keyId, fence)) uncovered.set(name, userId)
      else uncovered.delete(name)
      return
    }
    const before = found.get(name)
    if (wrapped !== null) {
      const fingerprint = fingerprintOf({ wrapped })
      found.set(name, { userId, keyId, fingerprint, destroyedMs: undefined })
    } else if (before) found.set(name, { ...before, destroyedMs: record.timestampMs })
  })
  parts.logger.debug({ partition, keys: found.size }, 'Searched user-keys for keys of erased users')
  const closesAt = (destroyedMs: number) => destroyedMs + settings.segmentMs
  const alive = [...found].flatMap(([name, { destroyedMs }]) => (destroyedMs === undefined ? name : []))
  const inOpenSegment = [...found].find(
    ([, { destroyedMs }]) =>
      destroyedMs !== undefined && lastMs <= closesAt(destroyedMs) && Date.now() > closesAt(destroyedMs) + MARGIN_MS,
  )
  return {
    keys: [...found.values()],
    toDestroy: inOpenSegment ? [...alive, inOpenSegment[0]] : alive,
    uncovered: [...new Set(uncovered.values())],
  }
}

/**
 * Returns true for a key that is older than the erasure, by the broker's clock, although its id is later than `keysUntil`. The key
 * of a user who has returned may look older too, if clocks differ slightly: then it has the first instant after `keysUntil`.
 */
function isUncovered({ timestampMs, value }: FetchedRecord, keyId: string, fence: LastFence): boolean {
  const { requestedMs, keysUntilMs } = fence
  return value !== null && timestampMs < requestedMs && keyTimeMs(keyId) > newKeyTimeMs(0, keysUntilMs)
}

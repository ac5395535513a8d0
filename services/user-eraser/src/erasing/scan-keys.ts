import type { CommitDb } from '@nextvisit/database'
import { isFencedKey } from '@nextvisit/domain'
import type { Watermarks } from '@nextvisit/log'
import { fingerprintOf, parseKeyRecord } from '@nextvisit/sealing'
import { readKeysUntil } from '../projection.ts'
import type { KeySettings } from './key-settings.ts'
import { type PartitionParts, readPartition } from './read-partition.ts'

/** A key of an erased user whose value is still in the topic. */
export interface FoundKey {
  readonly userId: string
  readonly keyId: string
  readonly fingerprint: string
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
 * and the keys that need a tombstone: those without one, and one of the others if no segment was closed since its tombstone.
 */
export async function scanKeys(
  parts: ScanParts,
): Promise<{ readonly keys: readonly FoundKey[]; readonly toDestroy: readonly string[] }> {
  const { db, partition, marks, userIds, settings } = parts
  const keysUntil = await readKeysUntil(db, [...userIds])
  const found = new Map<string, FoundKey & { readonly destroyedMs: number | undefined }>()
  let lastMs = 0
  await readPartition(parts, partition, marks, (record) => {
    lastMs = Math.max(lastMs, record.timestampMs)
    const key = parseKeyRecord(record)
    const keysUntilMs = key && keysUntil.get(key.userId)
    if (!key || keysUntilMs === undefined || !isFencedKey(key.keyId, { keysUntilMs })) return
    const { name, userId, keyId, wrapped } = key
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
  return { keys: [...found.values()], toDestroy: inOpenSegment ? [...alive, inOpenSegment[0]] : alive }
}

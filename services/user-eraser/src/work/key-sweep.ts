import type { WorkParts } from '@nextvisit/consumer'
import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { TopicMissingError, type Watermarks } from '@nextvisit/log'
import { createKeyTail } from './key-tail.ts'
import {
  finishKeys,
  noteDestroyedKeys,
  noteFailure,
  readPendingIds,
  readWatchedUsers,
  type WatchedUsers,
} from './key-rows.ts'
import { type KeySettings, readKeySettings } from './key-settings.ts'
import { publishKeys } from './publish-keys.ts'
import { scanKeys } from './scan-keys.ts'

export interface KeySweepParts
  extends Pick<WorkParts, 'db' | 'connection' | 'logAdmin' | 'publisher' | 'logger' | 'now'> {
  /** Default: `user-keys`. */
  readonly topic?: string | undefined
}

const SCAN_AT_LEAST_EVERY_MS = 300_000
const SCAN_AT_MOST_EVERY_MS = 1_000
/** Scans may take this part of the time. */
const SCAN_SHARE = 1 / 20

/**
 * Creates the sweep of `user-keys`. It publishes a tombstone for each key of an erased user, makes Kafka close the segment
 * with the tombstone, and reads the partition from its beginning until it no longer has the key. It also follows the end of
 * the topic, for keys that are published again after their destruction.
 */
export function createKeySweep(parts: KeySweepParts) {
  const { db, logAdmin, publisher, topic = USER_KEYS_TOPIC, now } = parts
  const ending = new AbortController()
  const { signal } = ending
  const readSettings = readKeySettings(logAdmin, topic)
  const tail = createKeyTail({ ...parts, topic, signal })
  /** Erasures whose partitions were read after their facts were published. */
  let scanned: ReadonlySet<string> = new Set()
  /** Instants of `performance.now()` at which partitions with work are read again. */
  const scanAt = new Map<number, number>()
  let finishUntilMs = 0
  let isFirst = true

  async function run(): Promise<void> {
    const pending = await readPendingIds(db)
    try {
      await sweep(pending)
    } catch (error) {
      if (!signal.aborted) await noteFailure(db, pending, reasonOf(error, topic))
      throw error
    }
  }

  async function sweep(pending: readonly string[]): Promise<void> {
    const settings = await readSettings()
    const marks = await logAdmin.watermarks(topic)
    for (const partition of await tail.follow(marks, settings)) scanAt.set(partition, 0)
    const isNew = pending.some((erasureId) => !scanned.has(erasureId))
    const isDue = isFirst || isNew || [...scanAt.values()].some((atMs) => atMs <= performance.now())
    if (isDue) await scanDue(pending, marks, settings)
    if (isDue || performance.now() < finishUntilMs) {
      await finishKeys(
        db,
        pending.filter((erasureId) => scanned.has(erasureId)),
        settings,
        now(),
      )
    }
  }

  async function scanDue(
    pending: readonly string[],
    marks: ReadonlyMap<number, Watermarks>,
    settings: KeySettings,
  ): Promise<void> {
    const watched = await readWatchedUsers(db, pending)
    for (const partition of scanAt.keys()) if (!watched.has(partition)) scanAt.delete(partition)
    for (const [partition, users] of watched) {
      const isNew = users.erasureIds.some((erasureId) => !scanned.has(erasureId))
      if (!isNew && (scanAt.get(partition) ?? 0) > performance.now()) continue
      const beganAtMs = performance.now()
      await scanOne(partition, users, marks.get(partition), settings)
      const tookMs = performance.now() - beganAtMs
      const everyMs = Math.min(Math.max(settings.segmentMs / 10, SCAN_AT_MOST_EVERY_MS), SCAN_AT_LEAST_EVERY_MS)
      scanAt.set(partition, performance.now() + Math.max(everyMs, tookMs / SCAN_SHARE))
    }
    scanned = new Set(pending)
    isFirst = false
  }

  async function scanOne(
    partition: number,
    { userIds }: WatchedUsers,
    marks: Watermarks | undefined,
    settings: KeySettings,
  ): Promise<void> {
    if (!marks) throw new TopicMissingError([`${topic}/${partition}`])
    const found = await scanKeys({ ...parts, topic, signal, partition, marks, userIds, settings })
    const tombstones = found.toDestroy.map((name) => ({ name, value: null }))
    await publishKeys({ publisher, topic }, partition, tombstones, UNPUBLISHED)
    if (await noteDestroyedKeys(db, partition, found.keys, now())) {
      finishUntilMs = performance.now() + settings.deleteFilesAfterMs + 2 * SCAN_AT_MOST_EVERY_MS
    }
  }

  return { run, stop: () => ending.abort(new Error('The sweep of keys was stopped')) }
}

/** A key is not destroyed yet. */
const UNPUBLISHED = {
  code: 'TOMBSTONE_UNPUBLISHED',
  message: 'A key of an erased user could not be destroyed now',
}

function reasonOf(error: unknown, topic: string): string {
  return error instanceof TopicMissingError
    ? `The topic ${topic} does not exist. Run nextvisit topics create.`
    : `Kafka does not answer for ${topic}.`
}

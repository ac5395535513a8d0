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
/** Scans may take this part of the time, also those of new erasures. */
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
  /** An instant of `performance.now()`, like `finishUntilMs`. */
  let mayScanAtMs = 0
  let finishUntilMs = 0
  let isFirst = true
  let hasFailed = false

  /** Asks neither Postgres nor Kafka while nothing is due. */
  async function run({ areSomeRunning }: { readonly areSomeRunning: boolean }): Promise<void> {
    const pending = areSomeRunning ? await readPendingIds(db) : []
    try {
      await sweep(pending)
      hasFailed = false
    } catch (error) {
      hasFailed = true
      if (!signal.aborted) await noteFailure(db, pending, reasonOf(error, topic))
      throw error
    }
  }

  async function sweep(pending: readonly string[]): Promise<void> {
    let mayFinish = hasFailed || performance.now() < finishUntilMs
    if (tail.isDue() || isScanDue(pending)) {
      const settings = await readSettings()
      const marks = await logAdmin.watermarks(topic)
      for (const partition of await tail.follow(marks, settings)) scanAt.set(partition, 0)
      if (isScanDue(pending)) {
        await scanDue(pending, marks, settings)
        mayFinish = true
      }
    }
    const searched = pending.filter((erasureId) => scanned.has(erasureId))
    if (mayFinish && searched.length > 0) await finishKeys(db, searched, await readSettings(), now())
  }

  function isScanDue(pending: readonly string[]): boolean {
    if (performance.now() < mayScanAtMs) return false
    const isNew = pending.some((erasureId) => !scanned.has(erasureId))
    return isFirst || isNew || [...scanAt.values()].some((atMs) => atMs <= performance.now())
  }

  async function scanDue(
    pending: readonly string[],
    marks: ReadonlyMap<number, Watermarks>,
    settings: KeySettings,
  ): Promise<void> {
    const beganAtMs = performance.now()
    const watched = await readWatchedUsers(db, pending)
    for (const partition of scanAt.keys()) if (!watched.has(partition)) scanAt.delete(partition)
    for (const [partition, users] of watched) {
      const isNew = users.erasureIds.some((erasureId) => !scanned.has(erasureId))
      if (!isNew && (scanAt.get(partition) ?? 0) > performance.now()) continue
      await scanOne(partition, users, marks.get(partition), settings)
      const everyMs = Math.min(Math.max(settings.segmentMs / 10, SCAN_AT_MOST_EVERY_MS), SCAN_AT_LEAST_EVERY_MS)
      scanAt.set(partition, performance.now() + everyMs)
    }
    mayScanAtMs = performance.now() + (performance.now() - beganAtMs) / SCAN_SHARE
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

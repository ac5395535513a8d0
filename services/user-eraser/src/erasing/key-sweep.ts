import type { WorkParts } from '@nextvisit/consumer'
import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { TopicMissingError, type Watermarks } from '@nextvisit/log'
import { createKeyTail } from './key-tail.ts'
import {
  type DueErasures,
  finishKeys,
  noteDestroyedKeys,
  noteFailure,
  noteKeysOnly,
  type PendingKeys,
  readKeysOnly,
  readPendingKeys,
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
/** Scans may take this part of the time, also those of new erasures, unless a pause would exceed a fortieth of the retention. */
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
  /** By partition, users with a key that their erasure does not cover. */
  const uncovered = new Map<number, readonly string[]>()
  /** An instant of `performance.now()`, like `finishUntilMs`. */
  let mayScanAtMs = 0
  /** While some erasures run: an earlier owner may have searched for keys after the first search of this one. */
  let mustScanAtMs = Infinity
  let finishUntilMs = 0
  let isFirst = true
  let hasFailed = false

  /** Asks neither Postgres nor Kafka while nothing is due. */
  async function run({ areSomeRunning }: { readonly areSomeRunning: boolean }): Promise<void> {
    const pending = areSomeRunning ? await readPendingKeys(db) : []
    if (!areSomeRunning) mustScanAtMs = Infinity
    try {
      // A short retention does not wait for the usual time.
      if (areSomeRunning && mustScanAtMs === Infinity)
        mustScanAtMs = performance.now() + Math.min(SCAN_AT_LEAST_EVERY_MS, (await readSettings()).segmentMs)
      await sweep(pending)
      hasFailed = false
    } catch (error) {
      if (signal.aborted) throw error
      // Of erasures that wait for their keys alone, once.
      const others = hasFailed ? [] : await readKeysOnly(db)
      hasFailed = true
      await noteFailure(db, [...pending.map(({ erasureId }) => erasureId), ...others], reasonOf(error, topic))
      throw error
    }
  }

  async function sweep(pending: readonly PendingKeys[]): Promise<void> {
    let mayFinish = hasFailed || performance.now() < finishUntilMs
    const erasures = await sortByDue(pending)
    if (tail.isDue() || isScanDue(erasures)) {
      const settings = await readSettings()
      const marks = await logAdmin.watermarks(topic)
      for (const partition of await tail.follow(marks, settings)) scanAt.set(partition, 0)
      if (isScanDue(erasures)) {
        await scanDue(erasures, marks, settings)
        mayFinish = true
      }
    }
    if (mayFinish) {
      const erasureIds = [...erasures.due, ...(await readKeysOnly(db))].filter((id) => scanned.has(id))
      const searched = { erasureIds, uncovered: [...uncovered.values()].flat() }
      await finishKeys(db, searched, await readSettings(), now())
    }
    const last = pending.flatMap(({ erasureId, isLast }) => (isLast && scanned.has(erasureId) ? erasureId : []))
    await noteKeysOnly(db, last)
  }

  /**
   * Erasures wait for the consumers that open records. They cannot wait for long: a consumer that is halted must not exceed the
   * retention.
   */
  async function sortByDue(pending: readonly PendingKeys[]): Promise<DueErasures> {
    if (pending.length === 0) return { due: [], waiting: [] }
    const dueFromMs = now().getTime() - (await readSettings()).segmentMs
    const isDue = ({ isPublished, isFolded, requestedAt }: PendingKeys): boolean =>
      isPublished && (isFolded || requestedAt.getTime() <= dueFromMs)
    const { due = [], waiting = [] } = Object.groupBy(pending, (one) => (isDue(one) ? 'due' : 'waiting'))
    return { due: due.map(({ erasureId }) => erasureId), waiting: waiting.map(({ erasureId }) => erasureId) }
  }

  function isScanDue({ due }: DueErasures): boolean {
    if (performance.now() < mayScanAtMs) return false
    const isNew = due.some((erasureId) => !scanned.has(erasureId))
    const isOverdue = performance.now() >= mustScanAtMs
    return isFirst || isNew || isOverdue || [...scanAt.values()].some((atMs) => atMs <= performance.now())
  }

  async function scanDue(
    erasures: DueErasures,
    marks: ReadonlyMap<number, Watermarks>,
    settings: KeySettings,
  ): Promise<void> {
    const beganAtMs = performance.now()
    const due = [...erasures.due, ...(await readKeysOnly(db))]
    const watched = await readWatchedUsers(db, { due, waiting: erasures.waiting })
    for (const partition of [...scanAt.keys(), ...uncovered.keys()]) {
      if (watched.has(partition)) continue
      scanAt.delete(partition)
      uncovered.delete(partition)
    }
    for (const [partition, users] of watched) {
      const isNew = users.erasureIds.some((erasureId) => !scanned.has(erasureId))
      if (!isNew && (scanAt.get(partition) ?? 0) > performance.now()) continue
      await scanOne(partition, users, marks.get(partition), settings)
      const everyMs = Math.min(Math.max(settings.segmentMs / 10, SCAN_AT_MOST_EVERY_MS), SCAN_AT_LEAST_EVERY_MS)
      scanAt.set(partition, performance.now() + everyMs)
    }
    const pauseMs = Math.min((performance.now() - beganAtMs) / SCAN_SHARE, settings.segmentMs / 10)
    mayScanAtMs = performance.now() + pauseMs
    mustScanAtMs = Infinity
    scanned = new Set(due)
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
    uncovered.set(partition, found.uncovered)
    if (await noteDestroyedKeys(db, { partition, userIds }, found.keys, now())) {
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

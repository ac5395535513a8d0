import { createHash } from 'node:crypto'
import { type FetchedRecord, type LogConnection, readWatermarks } from '@nextvisit/log'
import { compareRows } from './compare-rows.ts'
import { createDeadLetterCheck } from './dead-letters.ts'
import { type Fence, type Fences, keyTimeMs } from './erasures.ts'
import type { ErasureCompleted, ErasureRequested, ProjectRef } from './facts.ts'
import { compareCheckpoints, type CheckpointsOptions } from './fold.ts'
import { readErasureFact } from './read-fact.ts'
import { readAll, requireWhole } from './read-all.ts'
import { recordRefOf, type Snapshot } from './snapshot.ts'

interface ErasuresOptions extends CheckpointsOptions {
  /** The fences of `user-events`, read after the snapshot. */
  readonly fences: Pick<Fences, 'ofUserId'>
}

/** The stores that a complete erasure has finished (privacy.md, Erasure). */
const STORES = [
  'user-events',
  'user-projector',
  'form-trigger-evaluator',
  'metering',
  'trait-registry',
  'answer-collector',
  'webhook-dispatcher',
  'redis',
  'user-keys',
]
/** An erasure covers the keys of so long after its request, ms (records.md, UserErased). */
const COVERED_AFTER_MS = 60_000

interface Requested extends ProjectRef {
  readonly requestedAt: string
  readonly users: number
  readonly unknown: number
  readonly suppress: number
  readonly completedAt: string | null
  readonly receiptSha256: string | null
}

interface ErasersParts extends Pick<CheckpointsOptions, 'isAtRest' | 'findings'> {
  readonly connection: LogConnection
  readonly topic: string
  readonly snapshots: readonly Snapshot[]
  readonly fences: Fences
}

/** Compares the user eraser, whose topic names no other facts than erasures. */
export async function auditErasers({ connection, topic, snapshots, ...options }: ErasersParts) {
  const erasers = snapshots.filter(({ service }) => service === 'user-eraser')
  if (erasers.length === 0) return []
  const log = await readWatermarks(connection, topic)
  requireWhole(topic, log)
  const folds = erasers.map((snapshot) => ({ ...createErasuresFold({ ...options, snapshot, log }), ...snapshot }))
  await readAll(connection, topic, log, (record) => folds.forEach(({ fold }) => fold(record)))
  for (const { compare } of folds) await compare()
  return folds.map(({ service, lag }) => ({ service, lag }))
}

/** Repetition of the user eraser's fold of `erasures`, and a check of its work. */
function createErasuresFold(options: ErasuresOptions) {
  const { snapshot, fences, findings } = options
  const deadLetters = createDeadLetterCheck(snapshot, findings)
  /** By erasureId. */
  const requested = new Map<string, Requested>()
  const userIdsOf = new Map<string, ReadonlySet<string>>()
  const completed = new Set<string>()
  /** By erasureId and userId. */
  const users = new Map<string, ProjectRef & { readonly keysUntil: string }>()
  /** Of the last erasure of a user, ms. */
  const keysUntilMs = new Map<string, number>()

  function foldRequest({ id, organization, project, received, newestKeyAt, ...fact }: ErasureRequested): void {
    // Of several copies the first one counts.
    if (requested.has(id)) return
    const userIds = new Set(fact.userIds)
    const { unknown, suppress } = fact
    const about = { requestedAt: received, users: userIds.size, unknown, suppress: suppress ? 1 : 0 }
    requested.set(id, { organization, project, ...about, completedAt: null, receiptSha256: null })
    userIdsOf.set(id, userIds)
    for (const userId of userIds) {
      const instants = [received, ...(newestKeyAt === undefined ? [] : [newestKeyAt])].map(Date.parse)
      const untilMs = Math.max(...instants, keysUntilMs.get(userId) ?? 0) + COVERED_AFTER_MS
      keysUntilMs.set(userId, untilMs)
      users.set(`${id}/${userId}`, { organization, project, keysUntil: new Date(untilMs).toISOString() })
    }
  }

  function foldCompletion({ erasureId, at, receipt }: ErasureCompleted): void {
    const known = requested.get(erasureId)
    if (!known || completed.has(erasureId)) return
    completed.add(erasureId)
    const receiptSha256 = createHash('sha256').update(receipt).digest('hex')
    requested.set(erasureId, { ...known, completedAt: at, receiptSha256 })
    checkReceipt(erasureId, receipt)
  }

  /** The fact of an erasure. Of several copies the first one. */
  function fenceOf(erasureId: string, userId: string): Fence | undefined {
    return fences.ofUserId(userId).find(({ fact }) => fact.erasureId === erasureId)
  }

  function checkReceipt(erasureId: string, receipt: string): void {
    const add = (kind: string, says: string): void => findings.add(`receipts: ${kind}`, erasureId, says)
    const read = readReceipt(receipt)
    if (!read) return add('unreadable', 'has a receipt that is not one')
    if (read.erasureId !== erasureId) add('erasureId', 'has the receipt of another erasure')
    const missing = missingOf(read.stores)
    if (missing.length > 0) add('stores', `has a receipt without ${missing.join(', ')}`)
    const wanted = userIdsOf.get(erasureId)
    if (read.users.length !== wanted?.size || !read.users.every(({ userId }) => wanted.has(userId)))
      add('users', 'has a receipt of other users than those of its request')
    for (const { userId, ...place } of read.users) {
      const fence = fenceOf(erasureId, userId)
      if (!fence)
        findings.add('user-events: no UserErased', `${erasureId} ${userId}`, 'is missing, but the receipt names it')
      else if (!isPlaceOf(fence, place)) add('offset', `has a receipt with another place for ${userId}`)
    }
  }

  async function compareStores(): Promise<void> {
    const unfinished = new Map([...completed].map((erasureId) => [erasureId, STORES as readonly string[]]))
    for await (const { erasureId, finished } of snapshot.rows<{ erasureId: string; finished: string[] }>(
      `SELECT erasure_id AS "erasureId", coalesce(array_agg(store) FILTER (WHERE finished_at IS NOT NULL), '{}') AS finished
       FROM erasure_stores GROUP BY erasure_id`,
    )) {
      if (unfinished.has(erasureId)) unfinished.set(erasureId, missingOf(finished))
    }
    for (const [erasureId, stores] of unfinished) {
      for (const store of stores)
        findings.add(
          'erasures.erasure_stores: unfinished',
          `${erasureId} ${store}`,
          'has not finished a complete erasure',
        )
    }
  }

  /** The eraser holds of a user the place of the fact and the keys that it destroys, and nothing from before them. */
  async function compareRowsOfUsers(): Promise<void> {
    for await (const { erasureId, userId, ...place } of snapshot.rows<FactRow>(
      `SELECT erasure_id AS "erasureId", user_id AS "userId", partition, "offset"::text AS "offset" FROM erasure_facts`,
    )) {
      const fence = fenceOf(erasureId, userId)
      const about = `${erasureId} ${userId}`
      if (!fence)
        findings.add('erasures.erasure_facts: not in the log', about, 'exists, but no UserErased accounts for it')
      else if (!isPlaceOf(fence, place))
        findings.add('erasures.erasure_facts: offset', about, 'is another than that of the fact')
    }
    for await (const { userId, keyId } of snapshot.rows<{ userId: string; keyId: string }>(
      `SELECT user_id AS "userId", key_id AS "keyId" FROM erased_keys`,
    )) {
      if (keyTimeMs(keyId) <= (keysUntilMs.get(userId) ?? -1)) continue
      findings.add('erasures.erased_keys: not in the log', `${userId} key ${keyId}`, 'exists, but no erasure covers it')
    }
    for await (const { userId, table } of snapshot.rows<{ userId: string; table: string }>(
      `SELECT user_id AS "userId", 'user_keys' AS table FROM user_keys
       UNION ALL SELECT user_id, 'erased_users' FROM erased_users`,
    ))
      findings.add(`erasures.${table}: not in the log`, userId, 'exists, but the eraser keeps no row of a user there')
  }

  return {
    lag: compareCheckpoints(options),
    fold: (record: FetchedRecord): void => {
      const { partition, offset } = record
      if (offset >= (snapshot.checkpoints.get(partition) ?? 0n)) return
      const reading = readErasureFact(record)
      deadLetters.see(record, reading)
      const letter = snapshot.deadLetters.get(recordRefOf(record))
      if (reading.outcome === 'unreadable' || (letter && letter.state !== 'retried')) return
      if (reading.fact.type === 'ErasureRequested') foldRequest(reading.fact)
      if (reading.fact.type === 'ErasureCompleted') foldCompletion(reading.fact)
    },
    compare: async (): Promise<void> => {
      deadLetters.end()
      await compareRows({
        table: 'erasures.erasures',
        expected: requested,
        rows: snapshot.rows<{ erasureId: string }>(
          `SELECT erasure_id AS "erasureId", organization, project, requested_at AS "requestedAt", users, unknown,
             suppress::int AS suppress, completed_at AS "completedAt",
             encode(sha256(convert_to(receipt, 'UTF8')), 'hex') AS "receiptSha256" FROM erasures`,
        ),
        keyOf: ({ erasureId }) => erasureId,
        findings,
      })
      await compareRows({
        table: 'erasures.erasure_users',
        expected: users,
        rows: snapshot.rows<{ erasureId: string; userId: string }>(
          `SELECT erasure_id AS "erasureId", user_id AS "userId", organization, project, keys_until AS "keysUntil"
           FROM erasure_users`,
        ),
        keyOf: ({ erasureId, userId }) => `${erasureId}/${userId}`,
        findings,
      })
      await compareStores()
      await compareRowsOfUsers()
    },
  }
}

function missingOf(stores: readonly unknown[]): readonly string[] {
  return STORES.filter((store) => !stores.includes(store))
}

interface Place {
  readonly partition: number
  readonly offset: string
}

interface FactRow extends Place {
  readonly erasureId: string
  readonly userId: string
}

/** The eraser may have noted the place of a second copy. */
function isPlaceOf({ partition, offset }: Fence, place: Place): boolean {
  return place.partition === partition && BigInt(place.offset) >= offset
}

interface ReadReceipt {
  readonly erasureId: unknown
  readonly stores: readonly unknown[]
  readonly users: readonly (Place & { readonly userId: string })[]
}

/** Reads the members that the audit compares. undefined: one of them is missing. */
function readReceipt(receipt: string): ReadReceipt | undefined {
  try {
    const { erasureId, stores, users } = JSON.parse(receipt)
    const places = users.map(({ userId, partition, offset }: Record<string, unknown>) => ({
      userId: String(userId),
      partition: Number(partition),
      offset: String(BigInt(String(offset))),
    }))
    return { erasureId, stores: stores.map(({ store }: { store: unknown }) => store), users: places }
  } catch {
    return undefined
  }
}

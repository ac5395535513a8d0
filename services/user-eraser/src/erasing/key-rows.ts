import { ERASURE_STORES, SEGMENTS_A_KEY_RETENTION } from '@nextvisit/contracts'
import type { CommitDb, Db, Sql } from '@nextvisit/database'
import { sql } from '@nextvisit/database'
import type { KeySettings } from './key-settings.ts'
import { haveFinished, IS_ACTIVE, OPEN_RECORDS } from './running-erasures.ts'

/** Users whose keys must leave a partition of the topic of keys. */
export interface WatchedUsers {
  readonly userIds: ReadonlySet<string>
  /** The running erasures of these users. */
  readonly erasureIds: readonly string[]
}

/** A running erasure whose keys are not gone. */
export interface PendingKeys {
  readonly erasureId: string
  readonly requestedAt: Date
  /** Its facts are published. */
  readonly isPublished: boolean
  /** The consumers that open records have finished, so no fold needs the keys. */
  readonly isFolded: boolean
  /** All other stores have finished. */
  readonly isLast: boolean
}

/** Ids of running erasures. */
export interface DueErasures {
  /** Their keys may be destroyed. */
  readonly due: readonly string[]
  /** Consumers still need the keys. */
  readonly waiting: readonly string[]
}

const LATE_AFTER_MS = 60_000

/** The stores that finish before the keys. */
const OTHERS = ERASURE_STORES.filter((store) => store !== 'user-keys')

/** Reads the running erasures without those of {@link readKeysOnly}. */
export function readPendingKeys(db: Db): Promise<readonly PendingKeys[]> {
  return db.$queryRaw<PendingKeys[]>(sql`
    SELECT own.erasure_id AS "erasureId", own.requested_at AS "requestedAt",
      'user-events' = ANY(noted.finished) AS "isPublished", noted.finished @> ${[...OPEN_RECORDS]}::text[] AS "isFolded",
      noted.finished @> ${OTHERS}::text[] AS "isLast"
    FROM erasures AS own CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(store) FILTER (WHERE finished_at IS NOT NULL), '{}') AS finished
      FROM erasure_stores WHERE erasure_stores.erasure_id = own.erasure_id
    ) AS noted
    WHERE ${IS_ACTIVE} AND NOT 'user-keys' = ANY(noted.finished)`)
}

/** Reads the ids of the erasures that wait for their keys alone, after a first search. They are many if the retention is long. */
export async function readKeysOnly(db: Db): Promise<readonly string[]> {
  const rows = await db.$queryRaw<{ erasureId: string }[]>(
    sql`SELECT erasure_id AS "erasureId" FROM erasures WHERE completed_at IS NULL AND keys_only`,
  )
  return rows.map(({ erasureId }) => erasureId)
}

/** Notes that these erasures wait for their keys alone, and that a search has found the keys. */
export async function noteKeysOnly(db: Db, erasureIds: readonly string[]): Promise<void> {
  if (erasureIds.length === 0) return
  await db.$executeRaw(sql`
    UPDATE erasures AS own SET keys_only = true
    WHERE own.erasure_id = ANY(${[...erasureIds]}::uuid[]) AND NOT ${haveFinished('user-keys')}`)
}

/**
 * Reads the users to look for, by partition: those of these erasures, and those with a key that is not gone, unless an erasure of them
 * waits.
 */
export async function readWatchedUsers(
  db: Db,
  { due, waiting }: DueErasures,
): Promise<ReadonlyMap<number, WatchedUsers>> {
  const rows = await db.$queryRaw<{ partition: number; userIds: string[]; erasureIds: string[] }[]>(sql`
    SELECT partition, array_agg(DISTINCT user_id::text) AS "userIds",
      array_remove(array_agg(DISTINCT erasure_id::text), NULL) AS "erasureIds"
    FROM (
      SELECT partition, user_id, erasure_id FROM erasure_facts WHERE erasure_id = ANY(${[...due]}::uuid[])
      UNION ALL
      SELECT partition, user_id, NULL FROM erased_keys WHERE gone_at IS NULL
        AND user_id NOT IN (SELECT user_id FROM erasure_users WHERE erasure_id = ANY(${[...waiting]}::uuid[]))
    ) AS watched
    GROUP BY partition ORDER BY partition`)
  return new Map(
    rows.map(({ partition, userIds, erasureIds: ids }) => [partition, { userIds: new Set(userIds), erasureIds: ids }]),
  )
}

/** A key of an erased user whose value is still in the topic. */
export interface FoundKey {
  readonly userId: string
  readonly keyId: string
  readonly fingerprint: string
}

/** The last erasure of a user. */
export interface LastFence {
  readonly requestedMs: number
  readonly keysUntilMs: number
}

export async function readFences(db: Db, userIds: readonly string[]): Promise<ReadonlyMap<string, LastFence>> {
  const rows = await db.$queryRaw<(LastFence & { userId: string })[]>(sql`
    SELECT DISTINCT ON (own.user_id) own.user_id AS "userId",
      (extract(epoch FROM own.keys_until) * 1000)::float8 AS "keysUntilMs",
      (extract(epoch FROM erasure.requested_at) * 1000)::float8 AS "requestedMs"
    FROM erasure_users AS own JOIN erasures AS erasure USING (erasure_id)
    WHERE own.user_id = ANY(${[...userIds]}::uuid[]) ORDER BY own.user_id, own.keys_until DESC`)
  return new Map(rows.map(({ userId, ...fence }) => [userId, fence]))
}

/** Returns statements that note keys whose values are in the topic. A key that was gone is back. */
export function insertLeftKeys(partition: number, keys: readonly FoundKey[]): readonly Sql[] {
  if (keys.length === 0) return []
  return [
    sql`
      INSERT INTO erased_keys AS known (user_id, key_id, partition, fingerprint)
      SELECT user_id, key_id, ${partition}::int, fingerprint FROM unnest(
        ${keys.map(({ userId }) => userId)}::uuid[], ${keys.map(({ keyId }) => keyId)}::uuid[],
        ${keys.map(({ fingerprint }) => fingerprint)}::text[]
      ) AS found (user_id, key_id, fingerprint)
      ORDER BY user_id, key_id
      ON CONFLICT (user_id, key_id) DO UPDATE SET gone_at = NULL WHERE known.gone_at IS NOT NULL`,
  ]
}

/**
 * Notes the keys of these users that a partition, read from its beginning, still has, and that all their others are gone. Returns
 * true if some of these are new.
 */
export async function noteDestroyedKeys(
  db: CommitDb,
  { partition, userIds }: { readonly partition: number; readonly userIds: ReadonlySet<string> },
  left: readonly FoundKey[],
  at: Date,
): Promise<boolean> {
  const inserted = insertLeftKeys(partition, left)
  if (inserted.length > 0) await db.executeAll(inserted)
  const gone = await db.$executeRaw(sql`
    UPDATE erased_keys SET gone_at = ${at.toISOString()}::timestamptz
    WHERE partition = ${partition}::int AND user_id = ANY(${[...userIds]}::uuid[]) AND gone_at IS NULL
      AND (user_id, key_id) NOT IN (
      SELECT * FROM unnest(${left.map(({ userId }) => userId)}::uuid[], ${left.map(({ keyId }) => keyId)}::uuid[]))`)
  return gone > 0
}

interface Searched {
  readonly erasureIds: readonly string[]
  /** Users with a key that is older than their erasure, and that the erasure does not cover. */
  readonly uncovered: readonly string[]
}

/**
 * Notes the number of keys of these erasures, which were searched for in the whole topic, and finishes those whose keys are
 * gone for as long as Kafka keeps the files of compacted segments. It finishes none with an uncovered key. Rounds read a finished one
 * again, for its receipt.
 */
export async function finishKeys(
  db: Db,
  { erasureIds, uncovered }: Searched,
  { segmentMs, deleteFilesAfterMs }: KeySettings,
  at: Date,
): Promise<void> {
  if (erasureIds.length === 0) return
  const instant = at.toISOString()
  const goneBefore = new Date(at.getTime() - deleteFilesAfterMs).toISOString()
  const dueAfterMs = SEGMENTS_A_KEY_RETENTION * segmentMs + LATE_AFTER_MS
  await db.$executeRaw(sql`
    WITH noted AS (
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at, because, due_at)
    SELECT own.erasure_id, 'user-keys', found.keys,
      CASE WHEN NOT found.is_left AND NOT open.is_uncovered THEN ${instant}::timestamptz END,
      CASE WHEN open.is_uncovered THEN ${UNCOVERED} END,
      own.requested_at + ${dueAfterMs}::float8 * interval '1 ms'
    FROM erasures AS own CROSS JOIN LATERAL (
      SELECT EXISTS (
        SELECT FROM erasure_users AS u WHERE u.erasure_id = own.erasure_id AND u.user_id = ANY(${[...uncovered]}::uuid[])
      ) AS is_uncovered
    ) AS open CROSS JOIN LATERAL (
      SELECT count(*) AS keys,
        coalesce(bool_or(k.gone_at IS NULL OR k.gone_at > ${goneBefore}::timestamptz), false) AS is_left
      FROM erasure_users AS u JOIN erased_keys AS k USING (user_id)
      WHERE u.erasure_id = own.erasure_id AND (k.gone_at IS NULL OR k.gone_at >= own.requested_at)
    ) AS found
    WHERE own.erasure_id = ANY(${[...erasureIds]}::uuid[]) AND own.completed_at IS NULL
    ON CONFLICT (erasure_id, store) DO UPDATE
      SET rows = excluded.rows, finished_at = excluded.finished_at, due_at = excluded.due_at, because = excluded.because
      WHERE known.finished_at IS NULL AND (
        known.rows <> excluded.rows OR excluded.finished_at IS NOT NULL OR known.due_at IS NULL
        OR known.because IS DISTINCT FROM excluded.because)
    RETURNING erasure_id, finished_at
    )
    UPDATE erasures SET keys_only = false
    WHERE keys_only AND erasure_id IN (SELECT erasure_id FROM noted WHERE finished_at IS NOT NULL)`)
}

const UNCOVERED =
  'A user has an older key with a later time, from a gateway whose clock is ahead. See docs/runbooks/erasure.md.'

/** Notes why the keys of these erasures cannot be searched for now. */
export async function noteFailure(db: Db, erasureIds: readonly string[], because: string): Promise<void> {
  if (erasureIds.length === 0) return
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, because)
    SELECT erasure_id, 'user-keys', ${because} FROM unnest(${[...erasureIds]}::uuid[]) AS failed (erasure_id)
    ON CONFLICT (erasure_id, store) DO UPDATE SET because = excluded.because
      WHERE known.finished_at IS NULL AND known.because IS DISTINCT FROM excluded.because`)
}

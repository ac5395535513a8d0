import type { CommitDb, Db, Sql } from '@nextvisit/database'
import { sql } from '@nextvisit/database'
import type { KeySettings } from './key-settings.ts'
import type { FoundKey } from './scan-keys.ts'

/** Users whose keys must leave a partition of the topic of keys. */
export interface WatchedUsers {
  readonly userIds: ReadonlySet<string>
  /** The running erasures of these users. */
  readonly erasureIds: readonly string[]
}

/** Parts of `ERASURE_KEY_RETENTION` that a segment lasts (create-topics.ts). */
const SEGMENTS_A_RETENTION = 4
const LATE_AFTER_MS = 60_000

/** Returns running erasures whose facts are published and whose keys are not gone. */
export async function readPendingIds(db: Db): Promise<readonly string[]> {
  const rows = await db.$queryRaw<{ erasureId: string }[]>(sql`
    SELECT own.erasure_id AS "erasureId" FROM erasures AS own
    WHERE own.completed_at IS NULL AND EXISTS (
      SELECT FROM erasure_stores AS noted
      WHERE (noted.erasure_id, noted.store) = (own.erasure_id, 'user-events') AND noted.finished_at IS NOT NULL
    ) AND NOT EXISTS (
      SELECT FROM erasure_stores AS noted
      WHERE (noted.erasure_id, noted.store) = (own.erasure_id, 'user-keys') AND noted.finished_at IS NOT NULL
    )`)
  return rows.map(({ erasureId }) => erasureId)
}

/** Reads the users to look for, by partition: those of these erasures, and those with a key that is not gone. */
export async function readWatchedUsers(
  db: Db,
  erasureIds: readonly string[],
): Promise<ReadonlyMap<number, WatchedUsers>> {
  const rows = await db.$queryRaw<{ partition: number; userIds: string[]; erasureIds: string[] }[]>(sql`
    SELECT partition, array_agg(DISTINCT user_id::text) AS "userIds",
      array_remove(array_agg(DISTINCT erasure_id::text), NULL) AS "erasureIds"
    FROM (
      SELECT partition, user_id, erasure_id FROM erasure_facts WHERE erasure_id = ANY(${[...erasureIds]}::uuid[])
      UNION ALL
      SELECT partition, user_id, NULL FROM erased_keys WHERE gone_at IS NULL
    ) AS watched
    GROUP BY partition ORDER BY partition`)
  return new Map(
    rows.map(({ partition, userIds, erasureIds: ids }) => [partition, { userIds: new Set(userIds), erasureIds: ids }]),
  )
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
 * Notes the keys that a partition, read from its beginning, still has, and that all others are gone. Returns true if some of
 * these are new.
 */
export async function noteDestroyedKeys(
  db: CommitDb,
  partition: number,
  left: readonly FoundKey[],
  at: Date,
): Promise<boolean> {
  const inserted = insertLeftKeys(partition, left)
  if (inserted.length > 0) await db.executeAll(inserted)
  const gone = await db.$executeRaw(sql`
    UPDATE erased_keys SET gone_at = ${at.toISOString()}::timestamptz
    WHERE partition = ${partition}::int AND gone_at IS NULL AND (user_id, key_id) NOT IN (
      SELECT * FROM unnest(${left.map(({ userId }) => userId)}::uuid[], ${left.map(({ keyId }) => keyId)}::uuid[]))`)
  return gone > 0
}

/**
 * Notes the number of keys of these erasures, which were searched for in the whole topic, and finishes those whose keys are
 * gone for as long as Kafka keeps the files of compacted segments.
 */
export async function finishKeys(
  db: Db,
  erasureIds: readonly string[],
  { segmentMs, deleteFilesAfterMs }: KeySettings,
  at: Date,
): Promise<void> {
  if (erasureIds.length === 0) return
  const instant = at.toISOString()
  const goneBefore = new Date(at.getTime() - deleteFilesAfterMs).toISOString()
  const dueAfterMs = SEGMENTS_A_RETENTION * segmentMs + LATE_AFTER_MS
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at, due_at)
    SELECT own.erasure_id, 'user-keys', found.keys,
      CASE WHEN found.is_left THEN NULL ELSE ${instant}::timestamptz END,
      own.requested_at + ${dueAfterMs}::float8 * interval '1 ms'
    FROM erasures AS own CROSS JOIN LATERAL (
      SELECT count(*) AS keys,
        coalesce(bool_or(k.gone_at IS NULL OR k.gone_at > ${goneBefore}::timestamptz), false) AS is_left
      FROM erasure_users AS u JOIN erased_keys AS k USING (user_id)
      WHERE u.erasure_id = own.erasure_id AND (k.gone_at IS NULL OR k.gone_at >= own.requested_at)
    ) AS found
    WHERE own.erasure_id = ANY(${[...erasureIds]}::uuid[]) AND own.completed_at IS NULL
    ON CONFLICT (erasure_id, store) DO UPDATE
      SET rows = excluded.rows, finished_at = excluded.finished_at, due_at = excluded.due_at, because = NULL
      WHERE known.finished_at IS NULL AND (
        known.rows <> excluded.rows OR excluded.finished_at IS NOT NULL OR known.due_at IS NULL OR known.because IS NOT NULL)`)
}

/** Notes why the keys of these erasures cannot be searched for now. */
export async function noteFailure(db: Db, erasureIds: readonly string[], because: string): Promise<void> {
  if (erasureIds.length === 0) return
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, because)
    SELECT erasure_id, 'user-keys', ${because} FROM unnest(${[...erasureIds]}::uuid[]) AS failed (erasure_id)
    ON CONFLICT (erasure_id, store) DO UPDATE SET because = excluded.because
      WHERE known.finished_at IS NULL AND known.because IS DISTINCT FROM excluded.because`)
}

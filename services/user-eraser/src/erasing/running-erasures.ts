import type { ErasureStoreName } from '@nextvisit/contracts'
import { type Db, join, sql, type Sql } from '@nextvisit/database'

/** An erasure with a store that has not finished. */
export interface PendingErasure {
  readonly erasureId: string
  readonly organization: string
  readonly project: string
  /** Number of rows and `because` are those stored last. */
  readonly rows: bigint
  readonly because: string | null
  /** Its users, with the place of the fact. */
  readonly users: readonly ErasedUser[]
}

export interface ErasedUser {
  readonly userId: string
  readonly offset: string
}

/** The consumers that open sealed records. */
export const OPEN_RECORDS = [
  'user-projector',
  'form-trigger-evaluator',
  'answer-collector',
] as const satisfies readonly ErasureStoreName[]

export async function hasRunningErasures(db: Db): Promise<boolean> {
  const [row] = await db.$queryRaw<unknown[]>(sql`SELECT 1 FROM erasures WHERE completed_at IS NULL LIMIT 1`)
  return row !== undefined
}

/** A condition on the erasure `own`: a round has work for it. The others wait for Kafka, which deletes their keys. */
export const IS_ACTIVE = sql`own.completed_at IS NULL AND NOT own.keys_only`

/** A condition on the erasure `own`: these stores have finished. */
export function haveFinished(...stores: readonly ErasureStoreName[]): Sql {
  const each = stores.map(
    (store) => sql`EXISTS (
      SELECT FROM erasure_stores AS s
      WHERE (s.erasure_id, s.store) = (own.erasure_id, ${store}) AND s.finished_at IS NOT NULL)`,
  )
  return sql`(${join(each, ' AND ')})`
}

/** Reads what a store needs to know of these erasures, in their order. */
export async function readPending(
  db: Db,
  store: ErasureStoreName,
  erasureIds: readonly string[],
): Promise<readonly PendingErasure[]> {
  if (erasureIds.length === 0) return []
  return db.$queryRaw<PendingErasure[]>(sql`
    SELECT own.erasure_id AS "erasureId", own.organization, own.project,
      coalesce(noted.rows, 0) AS rows, noted.because, facts.users
    FROM unnest(${[...erasureIds]}::uuid[]) WITH ORDINALITY AS asked (erasure_id, nth)
    JOIN erasures AS own USING (erasure_id)
    LEFT JOIN erasure_stores AS noted ON (noted.erasure_id, noted.store) = (own.erasure_id, ${store})
    CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(jsonb_build_object('userId', user_id, 'offset', "offset"::text)), '[]') AS users
      FROM erasure_facts WHERE erasure_facts.erasure_id = own.erasure_id
    ) AS facts
    ORDER BY asked.nth`)
}

/** The progress of a store. */
export interface StoreProgress {
  readonly erasureId: string
  readonly rows: number
  readonly isFinished: boolean
  readonly because?: string | undefined
}

/** Notes the progress of a store with several erasures. It changes none that the store has finished. */
export async function noteProgress(
  db: Db,
  store: ErasureStoreName,
  progress: readonly StoreProgress[],
  at: Date,
): Promise<void> {
  if (progress.length === 0) return
  const finishedAt = at.toISOString()
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at, because)
    SELECT erasure_id, ${store}, rows, CASE WHEN is_finished THEN ${finishedAt}::timestamptz END, because
    FROM unnest(
      ${progress.map(({ erasureId }) => erasureId)}::uuid[], ${progress.map(({ rows }) => rows)}::bigint[],
      ${progress.map(({ isFinished }) => isFinished)}::boolean[], ${progress.map(({ because }) => because ?? null)}::text[]
    ) AS progress (erasure_id, rows, is_finished, because)
    ORDER BY erasure_id
    ON CONFLICT (erasure_id, store) DO UPDATE
      SET rows = excluded.rows, finished_at = excluded.finished_at, because = excluded.because
      WHERE known.finished_at IS NULL`)
}

/** The place of the `UserErased` that counts, in the partition of its user. */
export interface NotedFence {
  readonly erasureId: string
  readonly userId: string
  readonly offset: string
}

/**
 * Notes the places of facts that were published twice. The eraser has noted the last copy, and consumers have folded the first one. Later
 * questions may name either.
 */
export async function noteFences(db: Db, fences: readonly NotedFence[]): Promise<void> {
  if (fences.length === 0) return
  await db.$executeRaw(sql`
    UPDATE erasure_facts AS fact SET "offset" = fence."offset"
    FROM unnest(
      ${fences.map(({ erasureId }) => erasureId)}::uuid[], ${fences.map(({ userId }) => userId)}::uuid[],
      ${fences.map(({ offset }) => offset)}::bigint[]
    ) AS fence (erasure_id, user_id, "offset")
    WHERE (fact.erasure_id, fact.user_id) = (fence.erasure_id, fence.user_id) AND fence."offset" < fact."offset"`)
}

/** Returns a statement that makes a finished store unfinished again. */
export function reopenStore(erasureId: string, store: ErasureStoreName, because: string): Sql {
  return sql`UPDATE erasure_stores SET finished_at = NULL, because = ${because}
    WHERE (erasure_id, store) = (${erasureId}::uuid, ${store})`
}

/** Returns true if progress differs from what is noted, so that rounds without news write nothing. */
export function isNews(noted: PendingErasure | undefined, { rows, isFinished, because }: StoreProgress): boolean {
  return isFinished || Number(noted?.rows ?? 0) !== rows || (noted?.because ?? null) !== (because ?? null)
}

/** Finishes `user-events` for erasures whose facts are all published. Counts the facts of no others than unfinished ones. */
export async function noteFacts(db: Db, at: Date): Promise<void> {
  await db.$executeRaw(sql`
    WITH own AS MATERIALIZED (
      SELECT erasure_id, users FROM erasures AS own WHERE ${IS_ACTIVE} AND NOT ${haveFinished('user-events')}
    )
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at)
    SELECT own.erasure_id, 'user-events', own.users, ${at.toISOString()}::timestamptz
    FROM own WHERE own.users = (SELECT count(*) FROM erasure_facts AS fact WHERE fact.erasure_id = own.erasure_id)
    ON CONFLICT (erasure_id, store) DO UPDATE SET rows = excluded.rows, finished_at = excluded.finished_at`)
}

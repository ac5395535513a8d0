import type { ErasureStoreName } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { erasureStores } from '../tables.ts'

/** An erasure with a store that has not finished. */
export interface PendingErasure {
  readonly erasureId: string
  readonly organization: string
  readonly project: string
  readonly requestedAt: Date
  /** Number of rows and `because` are those stored last. */
  readonly rows: bigint
  readonly because: string | null
  /** Its users, with the place of the fact; of those whose fact is published. */
  readonly users: readonly ErasedUser[]
  /** The facts of all its users are published. */
  readonly isPublished: boolean
}

export interface ErasedUser {
  readonly userId: string
  readonly partition: number
  readonly offset: string
}

/** The consumers that open sealed records. */
export const OPEN_RECORDS = ['user-projector', 'form-trigger-evaluator'] as const satisfies readonly ErasureStoreName[]

/** Bounds a round. The next round continues with the next erasures. */
const ERASURES_A_ROUND = 20

export async function hasRunningErasures(db: Db): Promise<boolean> {
  const [row] = await db.$queryRaw<unknown[]>(sql`SELECT 1 FROM erasures WHERE completed_at IS NULL LIMIT 1`)
  return row !== undefined
}

/** Reads running erasures with this unfinished store, from the one after `after` on, and then from the first. */
export async function readPending(
  db: Db,
  store: ErasureStoreName,
  after: string | undefined,
): Promise<readonly PendingErasure[]> {
  return db.$queryRaw<PendingErasure[]>(sql`
    SELECT own.erasure_id AS "erasureId", own.organization, own.project, own.requested_at AS "requestedAt",
      coalesce(noted.rows, 0) AS rows, noted.because, facts.users, jsonb_array_length(facts.users) = own.users AS "isPublished"
    FROM erasures AS own
    LEFT JOIN erasure_stores AS noted ON (noted.erasure_id, noted.store) = (own.erasure_id, ${store})
    CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(jsonb_build_object('userId', user_id, 'partition', partition, 'offset', "offset"::text)), '[]')
        AS users
      FROM erasure_facts WHERE erasure_facts.erasure_id = own.erasure_id
    ) AS facts
    WHERE own.completed_at IS NULL AND noted.finished_at IS NULL
    ORDER BY coalesce(own.erasure_id <= ${after ?? null}::uuid, false), own.erasure_id LIMIT ${ERASURES_A_ROUND}`)
}

/** The progress of a store. */
export interface StoreProgress {
  readonly erasureId: string
  readonly store: ErasureStoreName
  readonly rows: number
  readonly isFinished: boolean
  readonly because?: string | undefined
}

/** Returns a statement that notes progress. It changes no finished store. */
export function noteStore({ erasureId, store, rows, isFinished, because }: StoreProgress, at: Date): Sql {
  const finishedAt = isFinished ? at.toISOString() : null
  return sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at, because)
    VALUES (${erasureId}::uuid, ${store}, ${rows}::bigint, ${finishedAt}::timestamptz, ${because ?? null})
    ON CONFLICT (erasure_id, store) DO UPDATE
      SET rows = excluded.rows, finished_at = excluded.finished_at, because = excluded.because
      WHERE known.finished_at IS NULL`
}

/** Returns a statement that makes a finished store unfinished again. */
export function reopenStore(erasureId: string, store: ErasureStoreName, because: string): Sql {
  return sql`UPDATE erasure_stores SET finished_at = NULL, because = ${because}
    WHERE (erasure_id, store) = (${erasureId}::uuid, ${store})`
}

/** Returns true if progress differs from what is noted, so that rounds without news write nothing. */
export function isNews({ rows, because }: PendingErasure, progress: StoreProgress): boolean {
  return progress.isFinished || Number(rows) !== progress.rows || because !== (progress.because ?? null)
}

/** Finishes `user-events` for erasures whose facts are all published. */
export async function noteFacts(db: Db, at: Date): Promise<void> {
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores AS known (erasure_id, store, rows, finished_at)
    SELECT own.erasure_id, 'user-events', own.users, ${at.toISOString()}::timestamptz
    FROM erasures AS own
    WHERE own.completed_at IS NULL
      AND own.users = (SELECT count(*) FROM erasure_facts AS fact WHERE fact.erasure_id = own.erasure_id)
      AND NOT EXISTS (
        SELECT FROM erasure_stores AS noted
        WHERE (noted.erasure_id, noted.store) = (own.erasure_id, 'user-events') AND noted.finished_at IS NOT NULL)
    ON CONFLICT (erasure_id, store) DO UPDATE SET rows = excluded.rows, finished_at = excluded.finished_at`)
}

/** Reads the stores of erasures that have finished. */
export async function readFinished(
  db: Db,
  erasureIds: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await erasureStores.selectByKeys(
    db,
    erasureIds.map((erasureId) => ({ erasureId })),
    ['erasureId'],
  )
  const finished = rows.filter(({ finishedAt }) => finishedAt !== null)
  const byErasure = Map.groupBy(finished, ({ erasureId }) => erasureId)
  return new Map(Array.from(byErasure, ([erasureId, stores]) => [erasureId, new Set(stores.map(({ store }) => store))]))
}

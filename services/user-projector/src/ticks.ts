import {
  formFactRows,
  MAX_BYTES_A_COMMIT,
  type ReviewedTicksOptions,
  type TickContext,
  type Writes,
} from '@nextvisit/consumer'
import type { ProjectRef } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import {
  completeUpTo,
  hasCurrentSegments,
  MAX_EVENT_HISTORY_BYTES,
  projectKeyOf,
  recomputeSegments,
  recomputeSegmentsUntil,
  type SegmentChange,
} from '@nextvisit/domain'
import type { DraftUser } from './draft.ts'
import { loadSegmentedUsers, type UserRow } from './load-draft.ts'
import { findOtherUsers, type OtherUsers, segmentsOf } from './project-segments.ts'
import { saveDraft } from './save-draft.ts'
import { MAX_CHANGES_A_COMMIT, publishChanges } from './segment-changes.ts'
import { segmentCounts, segmentProgress, users } from './tables.ts'

/** Maximum users of each kind in a tick, fewer if their traits are long or their segments count many events. */
const MAX_USERS_A_TICK = 1_000

/** Ticks of users whose segments change with time, or were computed with other segments than the catalog has. */
export const segmentTicks: ReviewedTicksOptions<OtherUsers> = {
  table: 'segment_progress',
  isDue: (instant, ahead) => sql`EXISTS (
    SELECT FROM users WHERE users.partition = owned.partition AND ${changesUntil(completeUpTo(instant), ahead)})`,
  compare: findOtherUsers,
  tick: tickSegments,
}

/**
 * Returns the changes that time and a new catalog make to the segments of a partition's users (forms.md, Conditions). Moves
 * users whose segments change with time alone. Recomputes users of other segments, a part of them in each tick.
 */
async function tickSegments(
  db: Db,
  instant: Date,
  others: readonly OtherUsers[],
  context: TickContext,
): Promise<Writes> {
  const { partition } = context
  const asOf = completeUpTo(instant)
  const ahead = others.filter(({ isAhead }) => isAhead)
  const stale = others.filter(({ isAhead }) => !isAhead)
  const [changing, old] = await Promise.all([readChanging(db, partition, asOf, ahead), readStale(db, partition, stale)])
  const draft = await loadSegmentedUsers(db, [...fitting(changing, context), ...fitting(old, context)], context)
  const isStale = new Set(stale.map((computed) => `${projectKeyOf(computed)}/${computed.definitions}`))
  const recompute = (user: DraftUser): readonly SegmentChange[] => {
    if (hasCurrentSegments(user)) return recomputeSegmentsUntil(user, asOf.getTime())
    if (!isStale.has(`${projectKeyOf(user)}/${user.computed.fingerprint}`)) return []
    return recomputeSegments(user, Math.max(asOf.getTime(), user.computed.asOf ?? -Infinity), 'definition')
  }
  for (const user of draft.users.values()) {
    // The next tick takes the others.
    if (draft.changes.length >= MAX_CHANGES_A_COMMIT) break
    publishChanges(draft, user, { changes: recompute(user), causeOffset: context.nextOffset - 1n }, context)
  }
  const statements = saveDraft(draft)
  return {
    statements: old.length > 0 ? [...statements, ...dropEmptyCounts(partition, old)] : statements,
    outbox: formFactRows('user-projector', draft.changes),
  }
}

/** Returns the first of these users, as many as fit into one commit with the events that their segments count; at least one. */
function fitting(rows: readonly UserRow[], { catalog }: Pick<TickContext, 'catalog'>): readonly UserRow[] {
  let bytes = 0
  const end = rows.findIndex((row, at) => {
    bytes += segmentsOf(catalog, row).index.countKeys.size * MAX_EVENT_HISTORY_BYTES
    return at > 0 && bytes > MAX_BYTES_A_COMMIT
  })
  return end === -1 ? rows : rows.slice(0, end)
}

/** Reads due users. Some may be stale, too: a due user does not wait because of that. */
function readChanging(db: Db, partition: number, asOf: Date, ahead: readonly OtherUsers[]): Promise<UserRow[]> {
  return users.select(
    db,
    sql`FROM (
      SELECT due.*, sum(trait_bytes) OVER (ORDER BY changes_at, user_id) - trait_bytes AS bytes_before FROM (
        SELECT * FROM users WHERE partition = ${partition} AND ${changesUntil(asOf, ahead)}
        ORDER BY changes_at LIMIT ${MAX_USERS_A_TICK}
      ) AS due
    ) AS due WHERE bytes_before < ${MAX_BYTES_A_COMMIT}`,
  )
}

/** Reads stale users in the order of an index, so that the last few of a million are found quickly. */
async function readStale(db: Db, partition: number, stale: readonly OtherUsers[]): Promise<UserRow[]> {
  if (stale.length === 0) return []
  return users.select(
    db,
    sql`FROM (
      SELECT old.*, sum(trait_bytes) OVER (ORDER BY user_id) - trait_bytes AS bytes_before FROM ${users.source('stale', stale, ['organization', 'project', 'definitions'])}
      CROSS JOIN LATERAL (
        SELECT * FROM users
        WHERE partition = ${partition} AND (users.organization, users.project, users.definitions)
          = (stale.organization, stale.project, stale.definitions)
        ORDER BY user_id LIMIT ${MAX_USERS_A_TICK}
      ) AS old
      LIMIT ${MAX_USERS_A_TICK}
    ) AS old WHERE bytes_before < ${MAX_BYTES_A_COMMIT}`,
  )
}

/** Returns a condition for rows of `users` whose segments change until then, except rows of a later catalog. */
function changesUntil(asOf: Date, ahead: readonly OtherUsers[]): Sql {
  const columns = ['partition', 'organization', 'project', 'definitions'] as const
  return sql`changes_at <= ${asOf.toISOString()}::timestamptz AND (partition, organization, project, definitions) NOT IN (
    SELECT partition, organization, project, definitions FROM ${users.source('ahead', ahead, columns)}
  )`
}

/** Deletes counts that have become 0, which is possible only in the projects of recomputed users. */
function dropEmptyCounts(partition: number, recomputed: readonly ProjectRef[]): readonly Sql[] {
  const projects = [...new Map(recomputed.map((user) => [projectKeyOf(user), user])).values()]
  const ofTheirs = sql`partition = ${partition} AND (organization, project) IN (
    SELECT organization, project FROM ${users.source('recomputed', projects, ['organization', 'project'])}
  )`
  return [
    segmentCounts.deleteWhere(sql`${ofTheirs} AND members = 0`),
    segmentProgress.deleteWhere(sql`${ofTheirs} AND users = 0`),
  ]
}

import { type Db, sql, type Sql, type Statement } from '@nextvisit/database'
import type { DueContext, FoldContext } from '@nextvisit/projection'
import { type ComputedUsers, findOtherUsers } from './computed-users.ts'
import { computeSegments, isCurrent, letTimePass } from './follow-segments.ts'
import { loadFollowed } from './load-draft.ts'
import { saveDraft } from './save-draft.ts'
import { dropEmptyCounts } from './segment-rows.ts'
import { type StoredUser, toStoredUser, USER_COLUMNS, type UserRow } from './user-rows.ts'

/** Of each kind. The rest waits for the next tick. */
const MAX_USERS_A_TICK = 1_000

/**
 * Facts are appended after they were received, by gateways whose clocks differ: ticks stay so far behind, lest they move
 * users past what a fact on its way still says of the time before.
 */
export const FACTS_ARRIVE_WITHIN_MS = 5_000

/** Those of these partitions that have users for {@link tickSegments}: two questions, however many there are. */
export async function findDueSegments(
  db: Db,
  instant: Date,
  { partitions, catalog }: DueContext,
): Promise<readonly number[]> {
  const asOf = settledAt(instant)
  const { stale, ahead } = await findOtherUsers(db, partitions, catalog)
  const changing = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (
      SELECT FROM users
      WHERE users.partition = owned.partition AND changes_at <= ${asOf.toISOString()}::timestamptz
        AND ${isNoneOf(ahead)}
    )`)
  return [...changing, ...stale].map(({ partition }) => partition)
}

/**
 * What time and a new catalog do to the segments of a partition's users (forms.md, Conditions): those that change by
 * themselves move, and who was computed with other definitions is computed anew, some at a time.
 */
export async function tickSegments(db: Db, instant: Date, context: FoldContext): Promise<readonly Statement[]> {
  const { partition, catalog, isRebuild } = context
  if (isRebuild) return []
  const asOf = settledAt(instant)
  const { stale, ahead } = await findOtherUsers(db, [partition], catalog)
  const [changing, old] = await Promise.all([readChanging(db, partition, asOf, ahead), readStale(db, partition, stale)])
  const draft = await loadFollowed(db, [...changing, ...old], context)
  const isStale = new Set(stale.map(computedKeyOf))
  for (const user of draft.users.values()) {
    const { clock, organization, project } = user
    if (isCurrent(user)) letTimePass(user, asOf.getTime())
    else if (isStale.has(computedKeyOf({ organization, project, definitions: clock.definitions }))) {
      computeSegments(user, Math.max(asOf.getTime(), clock.asOf ?? -Infinity))
    }
  }
  const statements = saveDraft(draft)
  return old.length > 0 ? [...statements, ...dropEmptyCounts(partition)] : statements
}

/** Stale ones among them: nobody who is due waits for them longer than for others. */
async function readChanging(
  db: Db,
  partition: number,
  asOf: Date,
  ahead: readonly ComputedUsers[],
): Promise<StoredUser[]> {
  const rows = await db.$queryRaw<UserRow[]>(sql`
    SELECT ${USER_COLUMNS} FROM users
    WHERE partition = ${partition} AND changes_at <= ${asOf.toISOString()}::timestamptz AND ${isNoneOf(ahead)}
    ORDER BY changes_at
    LIMIT ${MAX_USERS_A_TICK}`)
  return rows.map(toStoredUser)
}

/** In the order of an index, so that the last few of a million are found at once. */
async function readStale(db: Db, partition: number, stale: readonly ComputedUsers[]): Promise<StoredUser[]> {
  if (stale.length === 0) return []
  const rows = await db.$queryRaw<UserRow[]>(sql`
    SELECT ${USER_COLUMNS}
    FROM unnest(
      ${stale.map((users) => users.organization)}::text[],
      ${stale.map((users) => users.project)}::text[],
      ${stale.map((users) => users.definitions)}::text[]
    ) AS stale (of_organization, of_project, with_definitions)
    CROSS JOIN LATERAL (
      SELECT * FROM users
      WHERE partition = ${partition}
        AND (organization, project, definitions) = (of_organization, of_project, with_definitions)
      ORDER BY user_id
      LIMIT ${MAX_USERS_A_TICK}
    ) AS old
    LIMIT ${MAX_USERS_A_TICK}`)
  return rows.map(toStoredUser)
}

/** Up to when facts are all in the log, at an instant. */
function settledAt(instant: Date): Date {
  return new Date(instant.getTime() - FACTS_ARRIVE_WITHIN_MS)
}

/** A condition on rows of `users`. */
function isNoneOf(computed: readonly ComputedUsers[]): Sql {
  return sql`(users.partition, organization, project, definitions) NOT IN (
    SELECT * FROM unnest(
      ${computed.map((users) => users.partition)}::int[],
      ${computed.map((users) => users.organization)}::text[],
      ${computed.map((users) => users.project)}::text[],
      ${computed.map((users) => users.definitions)}::text[]
    )
  )`
}

function computedKeyOf({ organization, project, definitions }: Omit<ComputedUsers, 'partition'>): string {
  return `${organization}/${project}/${definitions}`
}

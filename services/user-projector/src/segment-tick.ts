import type { CatalogView } from '@nextvisit/catalog'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { DueContext, FoldContext } from '@nextvisit/projection'
import { computeSegments, isCurrent, letTimePass } from './follow-segments.ts'
import { loadFollowed } from './load-draft.ts'
import { segmentsOf } from './project-segments.ts'
import { saveDraft } from './save-draft.ts'
import { dropEmptyCounts } from './segment-rows.ts'
import { type StoredUser, toStoredUser, USER_COLUMNS, type UserRow } from './user-rows.ts'

/** Of each kind. The rest waits for the next tick. */
const MAX_USERS_A_TICK = 1_000

/** A partition's users of a project whose segments were computed with other definitions than the catalog has now. */
interface StaleUsers {
  readonly partition: number
  readonly organization: string
  readonly project: string
  readonly definitions: string
}

/** Those of these partitions that have users for {@link tickSegments}: two questions, however many there are. */
export async function findDueSegments(
  db: Db,
  instant: Date,
  { partitions, catalog }: DueContext,
): Promise<readonly number[]> {
  const [changing, stale] = await Promise.all([
    db.$queryRaw<{ partition: number }[]>(sql`
      SELECT owned.partition FROM unnest(${partitions}::int[]) AS owned (partition)
      WHERE EXISTS (
        SELECT FROM users
        WHERE users.partition = owned.partition AND changes_at <= ${instant.toISOString()}::timestamptz
      )`),
    findStaleUsers(db, partitions, catalog),
  ])
  return [...changing, ...stale].map(({ partition }) => partition)
}

/**
 * What time and a new catalog do to the segments of a partition's users (forms.md, Conditions): those that change by
 * themselves move, and who was computed with other definitions is computed anew, some at a time.
 */
export async function tickSegments(db: Db, instant: Date, context: FoldContext): Promise<readonly Statement[]> {
  const { partition, catalog, isRebuild } = context
  if (isRebuild) return []
  const stale = await findStaleUsers(db, [partition], catalog)
  const [changing, old] = await Promise.all([readChanging(db, partition, instant), readStale(db, partition, stale)])
  const draft = await loadFollowed(db, [...changing, ...old], context)
  const isOld = new Set(old.map(({ profile }) => profile.userId))
  for (const user of draft.users.values()) {
    if (isCurrent(user)) letTimePass(user, instant.getTime())
    else if (isOld.has(user.userId)) computeSegments(user, Math.max(instant.getTime(), user.clock.asOf ?? -Infinity))
  }
  const statements = saveDraft(draft)
  return old.length > 0 ? [...statements, ...dropEmptyCounts(partition)] : statements
}

async function readChanging(db: Db, partition: number, instant: Date): Promise<StoredUser[]> {
  const rows = await db.$queryRaw<UserRow[]>(sql`
    SELECT ${USER_COLUMNS} FROM users
    WHERE partition = ${partition} AND changes_at <= ${instant.toISOString()}::timestamptz
    ORDER BY changes_at
    LIMIT ${MAX_USERS_A_TICK}`)
  return rows.map(toStoredUser)
}

/** In the order of an index, so that the last few of a million are found at once. */
async function readStale(db: Db, partition: number, stale: readonly StaleUsers[]): Promise<StoredUser[]> {
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

/** Who was computed under a later catalog than the one at hand is somebody's who knew better. */
async function findStaleUsers(db: Db, partitions: readonly number[], catalog: CatalogView): Promise<StaleUsers[]> {
  const current = [...catalog.projects()].flatMap(({ organization, project }) => {
    const { definitions } = segmentsOf(catalog, { organization, project }).index
    return definitions === '' ? [] : { organization, project, definitions }
  })
  const rows = await db.$queryRaw<(StaleUsers & { revision: number })[]>(sql`
    SELECT partition, organization, project, definitions, (
      SELECT max(revision) FROM segment_progress AS other
      WHERE (other.organization, other.project, other.partition)
          = (computed.organization, computed.project, computed.partition) AND other.users > 0
    ) AS revision
    FROM segment_progress AS computed
    LEFT JOIN unnest(
      ${current.map((project) => project.organization)}::text[],
      ${current.map((project) => project.project)}::text[],
      ${current.map((project) => project.definitions)}::text[]
    ) AS current (organization, project, wanted) USING (organization, project)
    WHERE partition = ANY(${partitions}::int[]) AND users > 0 AND definitions <> coalesce(wanted, '')`)
  return rows.filter(({ organization, revision }) => revision <= catalog.revision(organization))
}

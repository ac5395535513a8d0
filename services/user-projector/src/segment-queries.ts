import type { SegmentMembersAnswer, SegmentMembersQuery, SegmentsAnswer, SegmentsQuery } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'

/** How many are in these segments, and how many users were computed with the definitions that are asked for. */
export async function readSegments(
  db: Db,
  { organization, project, segments }: SegmentsQuery,
): Promise<SegmentsAnswer> {
  const [rows, [total]] = await Promise.all([
    db.$queryRaw<{ members: bigint; usersComputed: bigint }[]>(sql`
      SELECT (
        SELECT coalesce(sum(members), 0)::bigint FROM segment_counts
        WHERE (organization, project, segment_id) = (${organization}, ${project}, asked.id)
      ) AS members, (
        SELECT coalesce(sum(users), 0)::bigint FROM segment_progress
        WHERE (organization, project) = (${organization}, ${project}) AND asked.definition = ANY(segments)
      ) AS "usersComputed"
      FROM unnest(
        ${segments.map(({ id }) => id)}::text[],
        ${segments.map(({ definition }) => definition)}::text[]
      ) WITH ORDINALITY AS asked (id, definition, position)
      ORDER BY position`),
    db.$queryRaw<{ users: bigint }[]>(sql`
      SELECT coalesce(sum(users), 0)::bigint AS users FROM segment_progress
      WHERE (organization, project) = (${organization}, ${project})`),
  ])
  return {
    segments: rows.map(({ members, usersComputed }) => ({
      members: Number(members),
      usersComputed: Number(usersComputed),
    })),
    usersTotal: Number(total?.users ?? 0),
  }
}

/** A page of a segment's members by user id; `next` is what to ask `after` for the page behind it. */
export async function readSegmentMembers(
  db: Db,
  { organization, project, segmentId, limit, after }: SegmentMembersQuery,
): Promise<SegmentMembersAnswer> {
  const rows = await db.$queryRaw<{ userId: string; userName: string; since: Date }[]>(sql`
    SELECT user_id AS "userId", user_name AS "userName", since
    FROM segment_members JOIN users USING (organization, project, user_id)
    WHERE (organization, project, segment_id) = (${organization}, ${project}, ${segmentId})
      AND user_id > coalesce(${after ?? null}::uuid, '00000000-0000-0000-0000-000000000000')
    ORDER BY user_id
    LIMIT ${limit + 1}`)
  const users = rows.slice(0, limit).map(({ since, ...user }) => ({ ...user, since: since.toISOString() }))
  return { users, next: rows.length > limit ? (users.at(-1)?.userId ?? null) : null }
}

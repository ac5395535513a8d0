import type { UserQuery } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import { askedFor } from './user-rows.ts'

/** A row of `segment_members`, without since when. */
export interface MemberKey extends UserQuery {
  readonly segmentId: string
}

export interface Member extends MemberKey {
  /** Ms. */
  readonly since: number
}

/** What a commit adds to the members of a segment in a partition. */
export interface MembersAdded {
  readonly organization: string
  readonly project: string
  readonly segmentId: string
  readonly partition: number
  readonly members: number
}

/** What a commit adds to a partition's users that were computed with these definitions. */
export interface ProgressAdded {
  readonly organization: string
  readonly project: string
  readonly definitions: string
  readonly partition: number
  readonly segments: readonly string[]
  readonly revision: number
  readonly users: number
}

/** The segments that these users are in, in any order. */
export async function readMemberships(db: Db, users: readonly UserQuery[]): Promise<Member[]> {
  if (users.length === 0) return []
  const rows = await db.$queryRaw<(MemberKey & { since: Date })[]>(sql`
    SELECT organization, project, segment_id AS "segmentId", user_id AS "userId", since
    FROM segment_members JOIN ${askedFor(users)} USING (organization, project, user_id)`)
  return rows.map((row) => ({ ...row, since: row.since.getTime() }))
}

export function upsertMembers(members: readonly Member[]): Statement {
  return sql`
    INSERT INTO segment_members (organization, project, segment_id, user_id, since)
    SELECT * FROM unnest(
      ${members.map((member) => member.organization)}::text[],
      ${members.map((member) => member.project)}::text[],
      ${members.map((member) => member.segmentId)}::text[],
      ${members.map((member) => member.userId)}::uuid[],
      ${members.map((member) => new Date(member.since).toISOString())}::timestamptz[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, segment_id, user_id) DO UPDATE SET since = excluded.since`
}

export function deleteMembers(members: readonly MemberKey[]): Statement {
  return sql`
    DELETE FROM segment_members USING unnest(
      ${members.map((member) => member.organization)}::text[],
      ${members.map((member) => member.project)}::text[],
      ${members.map((member) => member.segmentId)}::text[],
      ${members.map((member) => member.userId)}::uuid[]
    ) AS gone (organization, project, segment_id, user_id)
    WHERE (segment_members.organization, segment_members.project, segment_members.segment_id, segment_members.user_id)
        = (gone.organization, gone.project, gone.segment_id, gone.user_id)`
}

/** Adds; only the partition's owner writes these rows. */
export function addMemberCounts(added: readonly MembersAdded[]): Statement {
  return sql`
    INSERT INTO segment_counts AS known (organization, project, segment_id, partition, members)
    SELECT * FROM unnest(
      ${added.map((row) => row.organization)}::text[],
      ${added.map((row) => row.project)}::text[],
      ${added.map((row) => row.segmentId)}::text[],
      ${added.map((row) => row.partition)}::int[],
      ${added.map((row) => row.members)}::bigint[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, segment_id, partition) DO UPDATE SET
      members = known.members + excluded.members`
}

/** Adds, likewise. */
export function addProgress(added: readonly ProgressAdded[]): Statement {
  return sql`
    INSERT INTO segment_progress AS known (organization, project, definitions, partition, segments, revision, users)
    SELECT organization, project, definitions, partition, segments::text[], revision, users
    FROM unnest(
      ${added.map((row) => row.organization)}::text[],
      ${added.map((row) => row.project)}::text[],
      ${added.map((row) => row.definitions)}::text[],
      ${added.map((row) => row.partition)}::int[],
      ${added.map((row) => `{${row.segments.join()}}`)}::text[],
      ${added.map((row) => row.revision)}::int[],
      ${added.map((row) => row.users)}::bigint[]
    ) AS given (organization, project, definitions, partition, segments, revision, users)
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, definitions, partition) DO UPDATE SET
      users = known.users + excluded.users, revision = greatest(known.revision, excluded.revision)`
}

/** What nobody is left of. */
export function dropEmptyCounts(partition: number): readonly Statement[] {
  return [
    sql`DELETE FROM segment_counts WHERE partition = ${partition} AND members = 0`,
    sql`DELETE FROM segment_progress WHERE partition = ${partition} AND users = 0`,
  ]
}

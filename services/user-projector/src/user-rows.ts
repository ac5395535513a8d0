import type { TraitValue, UserQuery } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { FoldedUser } from './folded-user.ts'

/** A row of `user_events`, or what a batch adds to it. */
export interface EventCount extends UserQuery {
  readonly slug: string
  readonly count: number
  readonly firstAt: string
  readonly lastAt: string
}

/** `traits` and `device` come as text: slugs such as `__proto__` pass through `JSON.parse` only. */
interface UserRow extends UserQuery {
  userName: string
  traits: string
  country: string | null
  device: string
  firstSeenAt: Date
  lastSeenAt: Date
}

/** Those of `users` that exist, in any order. */
export async function readUsers(db: Db, users: readonly UserQuery[]): Promise<FoldedUser[]> {
  if (users.length === 0) return []
  const rows = await db.$queryRaw<UserRow[]>(sql`
    SELECT organization, project, user_id AS "userId", user_name AS "userName", traits::text, country, device::text,
           first_seen_at AS "firstSeenAt", last_seen_at AS "lastSeenAt"
    FROM users
    JOIN unnest(
      ${users.map((user) => user.organization)}::text[],
      ${users.map((user) => user.project)}::text[],
      ${users.map((user) => user.userId)}::uuid[]
    ) AS asked (organization, project, user_id) USING (organization, project, user_id)`)
  return rows.map((row) => ({
    ...row,
    traits: new Map(Object.entries(JSON.parse(row.traits) as Record<string, TraitValue>)),
    device: JSON.parse(row.device) as Record<string, string>,
    firstSeenAt: row.firstSeenAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
  }))
}

/** Whole rows: what a partition's owner has read and folded, nobody else writes. */
export function upsertUsers(users: readonly FoldedUser[]): Statement {
  return sql`
    INSERT INTO users
      (organization, project, user_id, user_name, traits, country, device, first_seen_at, last_seen_at)
    SELECT * FROM unnest(
      ${users.map((user) => user.organization)}::text[],
      ${users.map((user) => user.project)}::text[],
      ${users.map((user) => user.userId)}::uuid[],
      ${users.map((user) => user.userName)}::text[],
      ${users.map((user) => JSON.stringify(Object.fromEntries(user.traits)))}::jsonb[],
      ${users.map((user) => user.country)}::text[],
      ${users.map((user) => JSON.stringify(user.device))}::jsonb[],
      ${users.map((user) => user.firstSeenAt)}::timestamptz[],
      ${users.map((user) => user.lastSeenAt)}::timestamptz[]
    )
    ORDER BY 1, 2, 3
    ON CONFLICT (organization, project, user_id) DO UPDATE SET
      user_name = excluded.user_name, traits = excluded.traits, country = excluded.country, device = excluded.device,
      first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at`
}

/** Adds; nothing needs to be read first. */
export function addEventCounts(counts: readonly EventCount[]): Statement {
  return sql`
    INSERT INTO user_events AS known (organization, project, user_id, slug, count, first_at, last_at)
    SELECT * FROM unnest(
      ${counts.map((count) => count.organization)}::text[],
      ${counts.map((count) => count.project)}::text[],
      ${counts.map((count) => count.userId)}::uuid[],
      ${counts.map((count) => count.slug)}::text[],
      ${counts.map((count) => count.count)}::bigint[],
      ${counts.map((count) => count.firstAt)}::timestamptz[],
      ${counts.map((count) => count.lastAt)}::timestamptz[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, user_id, slug) DO UPDATE SET
      count = known.count + excluded.count,
      first_at = least(known.first_at, excluded.first_at),
      last_at = greatest(known.last_at, excluded.last_at)`
}

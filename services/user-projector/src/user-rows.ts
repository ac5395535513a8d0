import type { TraitValue, UserQuery } from '@nextvisit/contracts'
import { type Db, sql, type Sql, type Statement } from '@nextvisit/database'
import type { FoldedUser } from './folded-user.ts'
import type { DraftUser, FoldedEvent, SegmentClock } from './user-draft.ts'

/** A row of `users`. */
export interface StoredUser {
  readonly profile: FoldedUser
  readonly partition: number
  readonly clock: SegmentClock
}

export interface EventKey extends UserQuery {
  readonly slug: string
}

/** A row of `user_events`. */
export interface EventRow extends EventKey, FoldedEvent {}

/** `traits` and `device` come as text: slugs such as `__proto__` pass through `JSON.parse` only. */
export interface UserRow extends UserQuery {
  readonly userName: string
  readonly traits: string
  readonly country: string | null
  readonly device: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly partition: number
  readonly definitions: string
  readonly asOf: Date | null
  readonly changesAt: Date | null
}

export const USER_COLUMNS = sql`
  organization, project, user_id AS "userId", user_name AS "userName", traits::text, country, device::text,
  first_seen_at AS "firstSeenAt", last_seen_at AS "lastSeenAt", partition, definitions, as_of AS "asOf",
  changes_at AS "changesAt"`

export function toStoredUser({ partition, definitions, asOf, changesAt, ...row }: UserRow): StoredUser {
  return {
    profile: {
      ...row,
      traits: new Map(Object.entries(JSON.parse(row.traits) as Record<string, TraitValue>)),
      device: JSON.parse(row.device) as Record<string, string>,
      firstSeenAt: row.firstSeenAt.toISOString(),
      lastSeenAt: row.lastSeenAt.toISOString(),
    },
    partition,
    clock: { definitions, asOf: asOf?.getTime(), changesAt: changesAt?.getTime() },
  }
}

/** Those of `users` that exist, in any order. */
export async function readUsers(db: Db, users: readonly UserQuery[]): Promise<StoredUser[]> {
  if (users.length === 0) return []
  const rows = await db.$queryRaw<UserRow[]>(sql`
    SELECT ${USER_COLUMNS} FROM users JOIN ${askedFor(users)} USING (organization, project, user_id)`)
  return rows.map(toStoredUser)
}

/** Those of these events that ever happened to their users, in any order. */
export async function readEvents(db: Db, keys: readonly EventKey[]): Promise<EventRow[]> {
  if (keys.length === 0) return []
  return readEventRows(
    db,
    sql`unnest(
      ${keys.map((key) => key.organization)}::text[],
      ${keys.map((key) => key.project)}::text[],
      ${keys.map((key) => key.userId)}::uuid[],
      ${keys.map((key) => key.slug)}::text[]
    ) AS asked (organization, project, user_id, slug)`,
  )
}

/** Of all these users, those of their project's events that ever happened to them. */
export async function readEventsOf(
  db: Db,
  users: readonly UserQuery[],
  events: readonly Omit<EventKey, 'userId'>[],
): Promise<EventRow[]> {
  if (users.length === 0 || events.length === 0) return []
  return readEventRows(
    db,
    sql`${askedFor(users)} JOIN unnest(
      ${events.map((event) => event.organization)}::text[],
      ${events.map((event) => event.project)}::text[],
      ${events.map((event) => event.slug)}::text[]
    ) AS events (organization, project, slug) USING (organization, project)`,
  )
}

async function readEventRows(db: Db, keys: Sql): Promise<EventRow[]> {
  const rows = await db.$queryRaw<(EventKey & { total: bigint; latestMs: string; firstAt: Date; lastAt: Date })[]>(sql`
    SELECT organization, project, user_id AS "userId", slug, count AS total,
           array_to_string(latest_ms, ',') AS "latestMs", first_at AS "firstAt", last_at AS "lastAt"
    FROM ${keys} JOIN user_events USING (organization, project, user_id, slug)`)
  return rows.map(({ total, latestMs, firstAt, lastAt, ...key }) => ({
    ...key,
    total: Number(total),
    latest: latestMs.split(',').map(Number),
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
  }))
}

/** To join: the users that are asked for. */
export function askedFor(users: readonly UserQuery[]): Sql {
  return sql`unnest(
    ${users.map((user) => user.organization)}::text[],
    ${users.map((user) => user.project)}::text[],
    ${users.map((user) => user.userId)}::uuid[]
  ) AS asked (organization, project, user_id)`
}

export type IdentifiedUser = DraftUser & { readonly profile: FoldedUser }

/** Whole rows: what a partition's owner has read and folded, nobody else writes. */
export function upsertUsers(users: readonly IdentifiedUser[]): Statement {
  const profiles = users.map(({ profile }) => profile)
  return sql`
    INSERT INTO users
      (organization, project, user_id, user_name, traits, country, device, first_seen_at, last_seen_at, partition,
       definitions, as_of, changes_at)
    SELECT * FROM unnest(
      ${users.map((user) => user.organization)}::text[],
      ${users.map((user) => user.project)}::text[],
      ${users.map((user) => user.userId)}::uuid[],
      ${profiles.map((profile) => profile.userName)}::text[],
      ${profiles.map((profile) => JSON.stringify(Object.fromEntries(profile.traits)))}::jsonb[],
      ${profiles.map((profile) => profile.country)}::text[],
      ${profiles.map((profile) => JSON.stringify(profile.device))}::jsonb[],
      ${profiles.map((profile) => profile.firstSeenAt)}::timestamptz[],
      ${profiles.map((profile) => profile.lastSeenAt)}::timestamptz[],
      ${users.map((user) => user.partition)}::int[],
      ${users.map(({ clock }) => clock.definitions)}::text[],
      ${users.map(({ clock }) => isoOf(clock.asOf))}::timestamptz[],
      ${users.map(({ clock }) => isoOf(clock.changesAt))}::timestamptz[]
    )
    ORDER BY 1, 2, 3
    ON CONFLICT (organization, project, user_id) DO UPDATE SET
      user_name = excluded.user_name, traits = excluded.traits, country = excluded.country, device = excluded.device,
      first_seen_at = excluded.first_seen_at, last_seen_at = excluded.last_seen_at, definitions = excluded.definitions,
      as_of = excluded.as_of, changes_at = excluded.changes_at`
}

/** Whole rows. The times of an event travel as a literal of Postgres, as `unnest` would flatten a list of lists. */
export function upsertEvents(events: readonly EventRow[]): Statement {
  return sql`
    INSERT INTO user_events (organization, project, user_id, slug, count, latest_ms, first_at, last_at)
    SELECT organization, project, user_id, slug, count, latest_ms::bigint[], first_at, last_at
    FROM unnest(
      ${events.map((event) => event.organization)}::text[],
      ${events.map((event) => event.project)}::text[],
      ${events.map((event) => event.userId)}::uuid[],
      ${events.map((event) => event.slug)}::text[],
      ${events.map((event) => event.total)}::bigint[],
      ${events.map((event) => `{${event.latest.join()}}`)}::text[],
      ${events.map((event) => event.firstAt)}::timestamptz[],
      ${events.map((event) => event.lastAt)}::timestamptz[]
    ) AS given (organization, project, user_id, slug, count, latest_ms, first_at, last_at)
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, user_id, slug) DO UPDATE SET
      count = excluded.count, latest_ms = excluded.latest_ms, first_at = excluded.first_at, last_at = excluded.last_at`
}

function isoOf(instant: number | undefined): string | null {
  return instant === undefined ? null : new Date(instant).toISOString()
}

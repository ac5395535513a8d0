import { findCaughtUp, type HandlerParts, READ_BARRIER_WITHIN_MS, staleUnless, userKeys } from '@nextvisit/consumer'
import {
  type KnownTraits,
  MAX_EVENTS_SHOWN,
  type NamedUser,
  type SegmentMembersAnswer,
  type SegmentMembersQuery,
  type SegmentsAnswer,
  type SegmentsQuery,
  type UserFence,
  type UserKeys,
  type UserKeysQuery,
  type UserLookedUp,
  type UserLookUp,
  type UserQuery,
  type UserReadModel,
} from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { isFencedKey } from '@nextvisit/domain'
import { partitionForKey } from '@nextvisit/log'
import type { CallContext } from '@nextvisit/service-kit'
import { segmentCounts, segmentMembers, segmentProgress, userEvents, users } from './tables.ts'

/** Reads one user's read model, of bounded size, without property counts; undefined if no identify was folded. */
export async function readUser(db: Db, query: UserQuery): Promise<UserReadModel | undefined> {
  const { organization, project, userId } = query
  const [[user], events, memberships] = await Promise.all([
    users.selectByKeys(db, [query]),
    userEvents.select(
      db,
      sql`FROM user_events WHERE (organization, project, user_id) = (${organization}, ${project}, ${userId}::uuid)
          AND slug NOT LIKE '%#%'
        ORDER BY slug LIMIT ${MAX_EVENTS_SHOWN + 1}`,
    ),
    segmentMembers.selectByKeys(db, [query], ['organization', 'project', 'userId']),
  ])
  if (!user) return undefined
  const shown = events.slice(0, MAX_EVENTS_SHOWN)
  return {
    userId,
    userName: user.userName,
    traits: JSON.parse(user.traits) as UserReadModel['traits'],
    ...(user.droppedTraitOperations > 0 && { droppedTraitOperations: user.droppedTraitOperations }),
    country: user.country,
    device: JSON.parse(user.device) as UserReadModel['device'],
    firstSeenAt: user.firstSeenAt,
    lastSeenAt: user.lastSeenAt,
    events: Object.fromEntries(shown.map(({ slug, count, firstAt, lastAt }) => [slug, { count, firstAt, lastAt }])),
    ...(events.length > shown.length && { moreEvents: true }),
    segments: memberships.map(({ segmentId }) => segmentId).toSorted(),
  }
}

interface FenceColumns {
  readonly offset: bigint | null
  readonly keysUntil: Date | null
  readonly erasureId: string | null
}

const FENCE_COLUMNS = sql`erased."offset", erased.keys_until AS "keysUntil", erased.erasure_id AS "erasureId"`

function fenceOf({ offset, keysUntil, erasureId }: FenceColumns): { readonly fence?: UserFence } {
  if (offset === null || keysUntil === null || erasureId === null) return {}
  return { fence: { offset: String(offset), keysUntil: keysUntil.toISOString(), erasureId } }
}

/** Returns the userNames of these users, in their order, and their last erasures. */
export async function readUserNames(db: Db, queries: readonly UserQuery[]): Promise<NamedUser[]> {
  const rows = await db.$queryRaw<(FenceColumns & { readonly userName: string | null })[]>(sql`
    SELECT known.user_name AS "userName", ${FENCE_COLUMNS}
    FROM ${users.source('asked', queries)}
      LEFT JOIN users AS known USING (organization, project, user_id)
      LEFT JOIN erased_users AS erased USING (organization, project, user_id)
    ORDER BY position`)
  return rows.map(({ userName, ...row }) => ({ userName, ...fenceOf(row) }))
}

/** Returns the stored keys of these users, in their order, and their last erasures. */
export async function readUserKeys(db: Db, { organization, project, userIds }: UserKeysQuery): Promise<UserKeys[]> {
  const queries = userIds.map((userId) => ({ organization, project, userId }))
  const [fences, stored] = await Promise.all([
    readUserNames(db, queries),
    userKeys.select(db, sql`FROM user_keys WHERE user_id = ANY (${userIds}::uuid[]) ORDER BY key_id`),
  ])
  const keys = Map.groupBy(stored, ({ userId }) => userId)
  return userIds.map((userId, index) => ({
    userId,
    ...(fences[index]?.fence && { fence: fences[index].fence }),
    keys: (keys.get(userId) ?? []).map(({ keyId, wrapped }) => ({ keyId, wrapped })),
  }))
}

/** Returns the traits of these users, in their order, behind the barriers of their partitions. Reads them with one statement. */
export async function readTraits(
  asked: readonly UserQuery[],
  {
    readDb,
    countKeyPartitions,
    ...context
  }: Pick<HandlerParts, 'readDb' | 'barrier' | 'countKeyPartitions'> & CallContext,
): Promise<KnownTraits[]> {
  const count = await countKeyPartitions()
  const partitions = asked.map(({ userId }) => partitionForKey(userId, count))
  const folded = await findCaughtUp(new Set(partitions), { ...context, withinMs: READ_BARRIER_WITHIN_MS })
  const rows = await readDb.$queryRaw<{ readonly traits: UserReadModel['traits'] | null }[]>(sql`
    SELECT known.traits FROM ${users.source('asked', asked)} LEFT JOIN users AS known USING (organization, project, user_id)
    ORDER BY position`)
  return rows.map(({ traits }, index) => {
    const isCaughtUp = folded.has(partitions[index] ?? -1)
    if (traits) return { existence: 'exists', traits, ...staleUnless(isCaughtUp) }
    return { existence: isCaughtUp ? 'missing' : 'unknown' }
  })
}

/** A user as far as the records are folded. */
type StoredUser = Omit<UserLookedUp, 'existence'> & { readonly exists: boolean }

/**
 * Returns these users in their order: whether an identify was folded since the last erasure, the newest data key that no erasure
 * has destroyed, and the last erasure.
 */
export async function readStoredUsers(db: Db, queries: readonly UserQuery[]): Promise<readonly StoredUser[]> {
  const rows = await db.$queryRaw<StoredUserRow[]>(sql`
    SELECT EXISTS (
      SELECT FROM users
      WHERE (users.organization, users.project, users.user_id) = (asked.organization, asked.project, asked.user_id)
    ) AS "exists", newest.key_id AS "keyId", newest.wrapped, erased.keys_until AS "keysUntil"
    FROM ${users.source('asked', queries)}
    LEFT JOIN LATERAL (
      SELECT key_id, wrapped FROM user_keys WHERE user_keys.user_id = asked.user_id ORDER BY key_id DESC LIMIT 1
    ) AS newest ON true
    LEFT JOIN erased_users AS erased
      ON (erased.organization, erased.project, erased.user_id) = (asked.organization, asked.project, asked.user_id)
    ORDER BY position`)
  return rows.map(storedUserOf)
}

interface StoredUserRow {
  readonly exists: boolean
  readonly keyId: string | null
  readonly wrapped: string | null
  readonly keysUntil: Date | null
}

function storedUserOf({ exists, keyId, wrapped, keysUntil }: StoredUserRow): StoredUser {
  const keysUntilMs = keysUntil?.getTime() ?? Number.NEGATIVE_INFINITY
  const hasKey = keyId !== null && wrapped !== null && !isFencedKey(keyId, { keysUntilMs })
  return {
    exists,
    ...(hasKey && { key: { keyId, wrapped } }),
    ...(keysUntil && { keysUntil: keysUntil.toISOString() }),
  }
}

/** Counts the users in these segments, and the users that were computed with each segment's fingerprint. */
export async function readSegments(
  db: Db,
  { organization, project, segments }: SegmentsQuery,
): Promise<SegmentsAnswer> {
  const [counts, progress] = await Promise.all([
    segmentCounts.selectByKeys(db, [{ organization, project }], ['organization', 'project']),
    segmentProgress.selectByKeys(db, [{ organization, project }], ['organization', 'project']),
  ])
  const members = sumsByName(counts.map((row) => [row.segmentId, row.members]))
  const computed = sumsByName(progress.flatMap((row) => row.segments.map((name) => [name, row.users] as const)))
  return {
    segments: segments.map(({ id, fingerprint }) => ({
      members: members.get(id) ?? 0,
      usersComputed: computed.get(fingerprint) ?? 0,
    })),
    usersTotal: progress.reduce((total, row) => total + row.users, 0),
  }
}

function sumsByName(counts: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

/** Reads a page of a segment's members by user id. `after: next` reads the next page. */
export async function readSegmentMembers(
  db: Db,
  { organization, project, segmentId, limit, after }: SegmentMembersQuery,
): Promise<SegmentMembersAnswer> {
  const rows = await db.$queryRaw<{ userId: string; userName: string; since: Date }[]>(sql`
    SELECT user_id AS "userId", user_name AS "userName", since
    FROM (
      SELECT * FROM segment_members
      WHERE (organization, project, segment_id) = (${organization}, ${project}, ${segmentId})
        AND user_id > coalesce(${after ?? null}::uuid, '00000000-0000-0000-0000-000000000000')
      ORDER BY user_id
      LIMIT ${limit + 1}
    ) AS page JOIN users USING (organization, project, user_id)
    ORDER BY user_id`)
  const page = rows.slice(0, limit).map(({ since, ...user }) => ({ ...user, since: since.toISOString() }))
  return { users: page, next: rows.length > limit ? (page.at(-1)?.userId ?? null) : null }
}

/** Enough for a partition without a backlog, ms. Admission has a second, and other questions wait meanwhile. */
const BARRIER_WITHIN_MS = 500

/**
 * Returns, in order, what is known of each user at the time of the question. Only an erasure deletes a user, and gateways know
 * erasures before, so only missing users need the barrier. Partitions are awaited separately: a lagging one leaves only its own users `unknown`.
 */
export async function lookUpUsers(
  asked: readonly UserLookUp[],
  { db, ...context }: Pick<HandlerParts, 'db' | 'barrier'> & CallContext,
): Promise<UserLookedUp[]> {
  const before = await readStoredUsers(db, asked)
  const notFound = asked.filter((_user, index) => before[index]?.exists === false)
  const partitions = new Set(notFound.map(({ partition }) => partition))
  const folded = await findCaughtUp(partitions, { ...context, withinMs: BARRIER_WITHIN_MS })
  const stored = folded.size > 0 ? await readStoredUsers(db, asked) : before
  return asked.map(({ partition }, index) => {
    const { exists = false, ...known } = stored[index] ?? {}
    if (exists) return { existence: 'exists', ...known }
    return { existence: folded.has(partition) ? 'missing' : 'unknown', ...known }
  })
}

import type { TraitValue, UserQuery, UserReadModel } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { readMemberships } from './segment-rows.ts'
import { readUsers } from './user-rows.ts'

/** One user's read model, or none where nobody has identified them. */
export async function readUser(prisma: PrismaClient, query: UserQuery): Promise<UserReadModel | undefined> {
  const { organization, project, userId } = query
  const [[found], events, memberships] = await Promise.all([
    readUsers(prisma, [query]),
    prisma.userEvent.findMany({
      where: { organization, project, userId },
      orderBy: { slug: 'asc' },
      omit: { latestMs: true },
    }),
    readMemberships(prisma, [query]),
  ])
  if (!found) return undefined
  const { profile: user } = found
  return {
    userId,
    userName: user.userName,
    traits: Object.fromEntries<TraitValue>(user.traits),
    country: user.country,
    device: user.device,
    firstSeenAt: user.firstSeenAt,
    lastSeenAt: user.lastSeenAt,
    events: Object.fromEntries(
      events.map(({ slug, count, firstAt, lastAt }) => [
        slug,
        { count: Number(count), firstAt: firstAt.toISOString(), lastAt: lastAt.toISOString() },
      ]),
    ),
    segments: memberships.map(({ segmentId }) => segmentId).toSorted(),
  }
}

/** For each user, in order, whether an identify of theirs has been folded. */
export async function readExistence(db: Db, users: readonly UserQuery[]): Promise<boolean[]> {
  const rows = await db.$queryRaw<{ exists: boolean }[]>(sql`
    SELECT EXISTS (
      SELECT FROM users
      WHERE (users.organization, users.project, user_id) = (asked.organization, asked.project, asked.id)
    ) AS "exists"
    FROM unnest(
      ${users.map((user) => user.organization)}::text[],
      ${users.map((user) => user.project)}::text[],
      ${users.map((user) => user.userId)}::uuid[]
    ) WITH ORDINALITY AS asked (organization, project, id, position)
    ORDER BY position`)
  return rows.map((row) => row.exists)
}

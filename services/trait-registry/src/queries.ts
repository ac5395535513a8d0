import type { DefinitionsAnswer, DefinitionsQuery, RoomQuestion } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import type { z } from 'zod'
import type { PrismaClient } from '../generated/prisma/client.ts'

/** A page of definitions by slug, in the order of its bytes. Ask for `after: next` to get the page after it. */
export async function readDefinitions(
  prisma: PrismaClient,
  { kind, organization, project, limit, after }: DefinitionsQuery,
): Promise<z.infer<typeof DefinitionsAnswer>> {
  const rows = await prisma.definition.findMany({
    where: { organization, project, kind, ...(after === undefined ? {} : { slug: { gt: after } }) },
    orderBy: { slug: 'asc' },
    take: limit + 1,
  })
  const page = rows.slice(0, limit)
  return {
    definitions: page.map(({ slug, name, firstSeenAt, lastSeenAt, count }) => ({
      slug,
      name,
      firstSeenAt: firstSeenAt.toISOString(),
      lastSeenAt: lastSeenAt.toISOString(),
      count: Number(count),
    })),
    next: rows.length > limit ? (page.at(-1)?.slug ?? null) : null,
  }
}

/**
 * Whether an event is known or would find room now. Locks and claims nothing, so it decides only whether to go on waiting
 * for room under another limit; `claimNames` decides in the end.
 */
export async function findRoom(db: Db, events: readonly RoomQuestion[]): Promise<boolean[]> {
  const rows = await db.$queryRaw<{ has_room: boolean }[]>(sql`
    SELECT names.taken < "limit" OR names.is_known AS has_room
    FROM ROWS FROM (
      jsonb_to_recordset(${JSON.stringify(events)}::jsonb) AS (organization text, project text, slug text, "limit" bigint)
    ) WITH ORDINALITY AS asked (organization, project, slug, "limit", position)
    CROSS JOIN LATERAL (
      SELECT count(*) AS taken, coalesce(bool_or(slug = asked.slug), false) AS is_known
      FROM (
        SELECT slug FROM definitions
        WHERE (organization, project, kind) = (asked.organization, asked.project, 'event')
        UNION
        SELECT slug FROM claims WHERE (organization, project, kind) = (asked.organization, asked.project, 'event')
      ) AS taken
    ) AS names
    ORDER BY position`)
  return rows.map((row) => row.has_room)
}

import type { RoomQuestion } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'

/**
 * Whether an event is known or would find room now. Takes no lock and claims nothing, so it decides only whether to go on
 * waiting for room under another limit; `claimNames` has the last word.
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

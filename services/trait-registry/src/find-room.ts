import type { Claim } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'

/**
 * Whether each of a claim's names is known or would find room now. Takes no lock and claims nothing, so it decides only
 * whether to go on waiting for room under another limit; `claimNames` has the last word.
 */
export async function findRoom(db: Db, claims: readonly Claim[]): Promise<boolean[]> {
  const questions = claims.map(({ organization, project, kind, slugs, limit, disabled }) => ({
    organization,
    project,
    kind,
    slugs: slugs.map(({ slug }) => slug),
    limit,
    disabled,
  }))
  const rows = await db.$queryRaw<{ has_room: boolean }[]>(sql`
    SELECT "limit" IS NULL OR taken.others < "limit" OR taken.own = cardinality(slugs) AS has_room
    FROM ROWS FROM (
      jsonb_to_recordset(${JSON.stringify(questions)}::jsonb) AS (
        organization text, project text, kind text, slugs text[], "limit" bigint, disabled text[]
      )
    ) WITH ORDINALITY AS q (organization, project, kind, slugs, "limit", disabled, position)
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE slug <> ALL (q.disabled)) AS others, count(*) FILTER (WHERE slug = ANY (q.slugs)) AS own
      FROM (
        SELECT slug FROM definitions WHERE (organization, project, kind) = (q.organization, q.project, q.kind)
        UNION
        SELECT slug FROM claims WHERE (organization, project, kind) = (q.organization, q.project, q.kind)
      ) AS names
    ) AS taken
    ORDER BY position`)
  return rows.map((row) => row.has_room)
}

import type { DefinitionsAnswer, DefinitionsQuery } from '@nextvisit/contracts'
import { type Queryable, empty, sql } from '@nextvisit/database'

interface DefinitionRow {
  readonly slug: string
  readonly name: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly count: bigint
}

/** In byte order, every slug with a prefix comes before the prefix followed by this character. */
const LAST_CHARACTER = '\u{10FFFF}'

/** Reads a page of definitions, in the byte order of slugs. `after: next` reads the next page. */
export async function readDefinitions(
  db: Queryable,
  { kind, organization, project, limit, after, prefix = '' }: DefinitionsQuery,
): Promise<DefinitionsAnswer> {
  const rows = await db.$queryRaw<DefinitionRow[]>(sql`
    SELECT slug, name, first_seen_at AS "firstSeenAt", counted.last_seen_at AS "lastSeenAt", counted.count
    FROM (
      SELECT * FROM definitions
      WHERE organization = ${organization} AND project = ${project} AND kind = ${kind}
        ${after === undefined ? empty : sql`AND slug > ${after}`}
        ${prefix === '' ? empty : sql`AND slug >= ${prefix} AND slug < ${prefix + LAST_CHARACTER}`}
      ORDER BY slug LIMIT ${limit + 1}
    ) AS definition
    CROSS JOIN LATERAL (
      SELECT sum(count)::bigint AS count, max(last_seen_at) AS last_seen_at FROM definition_counts AS c
      WHERE (c.organization, c.project, c.kind, c.slug)
          = (definition.organization, definition.project, definition.kind, definition.slug)
    ) AS counted
    ORDER BY slug`)
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

import { type Db, type Sql, sql } from '@nextvisit/database'
import { IS_ACTIVE } from './running-erasures.ts'

/** Bounds the memory of a page, and is the maximum number of users in a question to a consumer. */
export const USERS_A_PAGE = 1_000

/** The place of an organization in the turns: the erasure that it was served last. */
interface Served {
  readonly organization: string
  readonly erasureId: string
}

export interface ErasuresPage {
  /** In the order of their turns. */
  readonly erasureIds: readonly string[]
  /** Further erasures wait for the next page. */
  readonly hasMore: boolean
}

/**
 * Creates turns of organizations. A page takes one running erasure of each organization, then a second one of each, and so on. Many
 * erasures of one organization therefore do not delay those of another. The next page begins with the organization that has waited
 * longest, and within each organization after the last erasure that was served.
 */
export function createTurns({ erasuresAPage = USERS_A_PAGE }: { readonly erasuresAPage?: number } = {}) {
  /** The last erasure by organization, the longest waiting organization first. */
  const served = new Map<string, string>()

  /** Reads the ids of the next running erasures `own` that fulfil the condition. They have at most {@link USERS_A_PAGE} users. */
  async function next(db: Db, condition: Sql): Promise<ErasuresPage> {
    const rows = await db.$queryRaw<(Served & { readonly waiting: number })[]>(sql`
      WITH waiting AS (
        SELECT own.erasure_id, own.organization, own.users, served.nth, row_number() OVER (
          PARTITION BY own.organization ORDER BY coalesce(own.erasure_id <= served.erasure_id, false), own.erasure_id
        ) AS turn
        FROM erasures AS own
        LEFT JOIN unnest(${[...served.keys()]}::text[], ${[...served.values()]}::uuid[])
          WITH ORDINALITY AS served (organization, erasure_id, nth) ON served.organization = own.organization
        WHERE ${IS_ACTIVE} AND ${condition}
      ), page AS (
        SELECT *, count(*) OVER () AS waiting,
          sum(users) OVER (ORDER BY turn, nth NULLS FIRST, erasure_id) AS users_so_far
        FROM waiting ORDER BY turn, nth NULLS FIRST, erasure_id LIMIT ${erasuresAPage}
      )
      SELECT erasure_id AS "erasureId", organization, waiting::int FROM page
      WHERE users_so_far <= ${USERS_A_PAGE} ORDER BY turn, nth NULLS FIRST, erasure_id`)
    for (const { organization, erasureId } of rows) {
      served.delete(organization)
      served.set(organization, erasureId)
    }
    return { erasureIds: rows.map(({ erasureId }) => erasureId), hasMore: rows.length < (rows[0]?.waiting ?? 0) }
  }

  return { next }
}

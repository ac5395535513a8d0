import type { erasedUserCalls } from '@nextvisit/contracts'
import { type Queryable, sql, type Sql } from '@nextvisit/database'
import { queueErasedIdOf, userErasedIdOf } from '@nextvisit/domain'
import type { Handlers } from '@nextvisit/service-kit'
import type { Projection } from '../core/projection.ts'
import { IS_FENCED_KEY } from '../fold/erase-users.ts'

interface ErasedUser {
  readonly userId: string
  readonly isPassed: boolean
  readonly rows: number
  readonly fenceOffset: string | null
}

/** Answers which erasures a projection has folded. */
export function answerErasedUsers(
  projection: Pick<Projection, 'name' | 'topic' | 'fence'>,
  db: Queryable,
): Handlers<typeof erasedUserCalls> {
  const [isFolded, fenceOffset] =
    projection.fence === 'QueueErased' ? [HAS_FOLDED_ID, sql`NULL`] : [hasPassedOffset(projection), FENCE_OFFSET]
  return {
    readErasedUsers: async ({ users: asked }) => {
      const ids = asked.map(({ erasureId, userId }) => queueErasedIdOf(userErasedIdOf(erasureId, userId)))
      const users = await db.$queryRaw<ErasedUser[]>(sql`
        SELECT asked.user_id AS "userId", coalesce(fence.rows, 0)::float8 AS rows, ${fenceOffset} AS "fenceOffset",
          coalesce(
            ${isFolded}
            AND NOT EXISTS (SELECT FROM user_keys AS own WHERE own.user_id = fence.user_id AND ${IS_FENCED_KEY}),
            false) AS "isPassed"
        FROM unnest(
          ${asked.map(({ organization }) => organization)}::text[], ${asked.map(({ project }) => project)}::text[],
          ${asked.map(({ userId }) => userId)}::uuid[], ${asked.map(({ offset }) => offset)}::bigint[],
          ${asked.map(({ erasureId }) => erasureId)}::uuid[], ${ids}::uuid[]
        ) WITH ORDINALITY AS asked (organization, project, user_id, "offset", erasure_id, queue_erased_id, nth)
        LEFT JOIN erased_users AS fence
          ON (fence.user_id, fence.organization, fence.project) = (asked.user_id, asked.organization, asked.project)
        LEFT JOIN checkpoints AS checkpoint
          ON checkpoint.projection = ${projection.name} AND checkpoint.topic = ${projection.topic}
            AND checkpoint.partition = fence.partition
        ORDER BY nth`)
      return { users }
    },
  }
}

/** A second copy of the erasure is a duplicate and sets no fence. */
const FENCE_OFFSET = sql`CASE WHEN fence.erasure_id = asked.erasure_id THEN fence."offset"::text END`

/** The asked offset is that of another topic. The ledger keeps the ids of folded erasures for ever. */
const HAS_FOLDED_ID = sql`EXISTS (SELECT FROM idempotent_records WHERE record_id = asked.queue_erased_id)`

/**
 * The offset may be that of a second copy of the erasure, which is a duplicate: then the fence is before it, and the checkpoint after
 * it. An erasure that cannot be read is a dead letter.
 */
function hasPassedOffset({ name, topic }: Pick<Projection, 'name' | 'topic'>): Sql {
  return sql`checkpoint.next_offset > asked."offset"
    AND NOT EXISTS (
      SELECT FROM dead_letters AS letter
      WHERE letter.projection = ${name} AND letter.topic = ${topic}
        AND (letter.partition, letter."offset") = (fence.partition, asked."offset") AND letter.state <> 'retried')`
}

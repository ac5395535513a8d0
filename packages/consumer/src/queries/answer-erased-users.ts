import type { erasedUserCalls } from '@nextvisit/contracts'
import { type Queryable, sql } from '@nextvisit/database'
import type { Handlers } from '@nextvisit/service-kit'
import { IS_FENCED_KEY } from '../fold/erase-users.ts'

/**
 * Answers which erasures a projection has folded. `topic`: the topic of its facts. The offset may be that of a second copy of the
 * erasure, which is a duplicate: then the fence is before it, and the checkpoint after it.
 */
export function answerErasedUsers(
  { projection, topic }: { readonly projection: string; readonly topic: string },
  db: Queryable,
): Handlers<typeof erasedUserCalls> {
  return {
    readErasedUsers: async ({ users: asked }) => {
      const users = await db.$queryRaw<{ userId: string; isPassed: boolean; rows: number }[]>(sql`
        SELECT asked.user_id AS "userId", coalesce(fence.rows, 0)::float8 AS rows, coalesce(
          checkpoint.next_offset > asked."offset"
          AND NOT EXISTS (SELECT FROM user_keys AS own WHERE own.user_id = fence.user_id AND ${IS_FENCED_KEY})
          -- An erasure that cannot be read is a dead letter.
          AND NOT EXISTS (
            SELECT FROM dead_letters AS letter
            WHERE letter.projection = ${projection} AND letter.topic = ${topic}
              AND (letter.partition, letter."offset") = (fence.partition, asked."offset") AND letter.state <> 'retried'),
          false) AS "isPassed"
        FROM unnest(
          ${asked.map(({ organization }) => organization)}::text[], ${asked.map(({ project }) => project)}::text[],
          ${asked.map(({ userId }) => userId)}::uuid[], ${asked.map(({ offset }) => offset)}::bigint[]
        ) WITH ORDINALITY AS asked (organization, project, user_id, "offset", nth)
        LEFT JOIN erased_users AS fence
          ON (fence.user_id, fence.organization, fence.project) = (asked.user_id, asked.organization, asked.project)
        LEFT JOIN checkpoints AS checkpoint
          ON checkpoint.projection = ${projection} AND checkpoint.topic = ${topic} AND checkpoint.partition = fence.partition
        ORDER BY nth`)
      return { users }
    },
  }
}

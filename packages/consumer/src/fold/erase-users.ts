import { CAUSE_OF_ERASED, type QueueErased, type UserErased, type UserRef } from '@nextvisit/contracts'
import { empty, raw, type Sql, sql } from '@nextvisit/database'
import type { Projection, Recorded } from '../core/projection.ts'
import { erasedUsers } from '../core/tables.ts'

/** An erased user, and the position of the fence. */
export interface ErasedUser extends UserRef {
  readonly partition: number
  readonly offset: bigint
}

/** A record that erases a user: on `user-events`, or on `form-events`. */
export type Erasure = UserErased | QueueErased

/** Returns the user of an erasure, for {@link eraseRows}. */
export function erasedUserOf({ fact, partition, offset }: Recorded<Erasure>): ErasedUser {
  const { organization, project, userId } = fact
  return { organization, project, userId, partition, offset }
}

/** Returns erased users as the table `erased` of a statement. */
export function erasedSource(users: readonly ErasedUser[]): Sql {
  return erasedUsers.source('erased', users, ['organization', 'project', 'userId', 'partition', 'offset'])
}

/**
 * Returns the statement that deletes rows of erased users, and adds their number to `erased_users`. `table` has the columns that name
 * a user. `only`: a condition over `own`, a row, and `erased`.
 */
export function eraseRows(
  table: string,
  users: readonly ErasedUser[],
  { columns = ['organization', 'project', 'user_id'], only }: { readonly columns?: readonly string[]; only?: Sql } = {},
): Sql[] {
  if (users.length === 0) return []
  const keyOf = (row: string): Sql => raw(`(${columns.map((column) => `${row}.${column}`).join(', ')})`)
  return [
    sql`
    WITH deleted AS (
      DELETE FROM ${raw(table)} AS own USING ${erasedSource(users)}
      WHERE ${keyOf('own')} = ${keyOf('erased')} ${only ? sql`AND ${only}` : empty}
      RETURNING erased.organization, erased.project, erased.user_id
    )
    UPDATE erased_users AS fence SET rows = fence.rows + counted.rows
    FROM (SELECT organization, project, user_id, count(*) AS rows FROM deleted GROUP BY 1, 2, 3) AS counted
    WHERE (fence.organization, fence.project, fence.user_id) = (counted.organization, counted.project, counted.user_id)`,
  ]
}

/**
 * Returns the statements of every consumer for erasures: the fences, and everything of the users in the core's tables. They come before
 * the statements of the projection, which count deleted rows.
 */
export function eraseUsers(
  { name, topic }: Pick<Projection, 'name' | 'topic'>,
  erasures: readonly Recorded<Erasure>[],
): Sql[] {
  if (erasures.length === 0) return []
  const users = erasures.map(erasedUserOf)
  const fences = erasures.map((record) => ({ ...record.fact, ...erasedUserOf(record), rows: 0 }))
  const isOfPartition = sql`projection = ${name} AND topic = ${topic} AND own.partition = erased.partition`
  return [
    ...erasedUsers.upsert(fences, { where: IS_LAST_FENCE }),
    sql`
    UPDATE dead_letters AS own SET value = NULL, headers = '{}', reason = ${CAUSE_OF_ERASED},
      state = CASE WHEN state IN ('dead', 'retry') THEN 'discarded' ELSE state END,
      decided_by = CASE state WHEN 'dead' THEN 'erasure' ELSE decided_by END,
      decided_at = CASE state WHEN 'dead' THEN now() ELSE decided_at END
    FROM ${erasedSource(users)}
    WHERE own.key = convert_to(erased.user_id::text, 'UTF8') AND ${isOfPartition} AND own."offset" < erased."offset"`,
    // An alarm that the checkpoint has passed has no effect any more, but its message may quote a record.
    sql`DELETE FROM partition_alarms AS own USING ${erasedSource(users)} WHERE ${isOfPartition} AND own."offset" < erased."offset"`,
    ...deleteFencedKeys(users.map(({ userId }) => userId)),
  ]
}

/** Selects fences that no later one of the same user precedes. */
const IS_LAST_FENCE = sql`NOT EXISTS (
  SELECT FROM erased_users AS before
  WHERE (before.organization, before.project, before.user_id) = (given.organization, given.project, given.user_id)
    AND before."offset" > given."offset")`

/** Returns the statement that deletes the keys of these users that their last fence covers: keys that are published again, too. */
export function deleteFencedKeys(userIds: readonly string[]): Sql[] {
  if (userIds.length === 0) return []
  return [
    sql`
    DELETE FROM user_keys AS own USING erased_users AS fence
    WHERE own.user_id = ANY(${userIds}::uuid[]) AND fence.user_id = own.user_id AND ${IS_FENCED_KEY}`,
  ]
}

/** The condition that a row `own` of `user_keys` is covered by a row `fence` of `erased_users`: `isFencedKey` of the domain in SQL. */
export const IS_FENCED_KEY = sql`(
  substr(own.key_id::text, 15, 1) <> '7'
  OR ('x0000' || translate(left(own.key_id::text, 13), '-', ''))::bit(64)::bigint
    <= round(extract(epoch FROM fence.keys_until) * 1000)::bigint)`

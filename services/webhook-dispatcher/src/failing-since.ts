import { raw, type Sql, sql } from '@nextvisit/database'

/** More than the longest pause between attempts: a day and a tenth. After it, nothing was pending, or nothing was sent. */
const QUIET_AFTER_MS = 2 * 86_400_000

/** Returns the first failed attempt of the endpoint `alias` in SQL; null: the last one has succeeded, or is from before a pause. */
export function failingSinceOf(alias: string, now: Date): Sql {
  const before = new Date(now.getTime() - QUIET_AFTER_MS)
  return sql`CASE WHEN ${raw(alias)}.failed_at > ${before}::timestamptz THEN ${raw(alias)}.failing_since END`
}

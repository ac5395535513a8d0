import { type Db, sql, type Sql } from '@nextvisit/database'
import { BatchTooLargeError } from '../errors.ts'

/**
 * How many bytes of long rows one commit may load and write. Far below what Postgres does within its timeouts, and
 * what one message to it may hold.
 */
export const MAX_BYTES_A_COMMIT = 16 * 1024 * 1024

/** What the counts of one event of one user may take: two names, a slug, and up to 153 instants. */
export const MAX_BYTES_AN_EVENT = 2_560

export interface LoadedRows {
  readonly rows: number
  readonly maxBytesARow: number
  /** Rows of users' events beside them, whether or not they are there. */
  readonly eventRows: number
}

/**
 * For `load`: throws {@link BatchTooLargeError} where the rows of `records` records are too long for one commit, so that the
 * core folds the batch in parts. One record always fits. `measure` is only called where the rows could be too long.
 */
export async function requireFits(
  records: number,
  { rows, maxBytesARow, eventRows }: LoadedRows,
  measure: () => Promise<number>,
): Promise<void> {
  const eventBytes = eventRows * MAX_BYTES_AN_EVENT
  if (records === 1 || rows * maxBytesARow + eventBytes <= MAX_BYTES_A_COMMIT) return
  const bytes = eventBytes > MAX_BYTES_A_COMMIT ? eventBytes : eventBytes + (await measure())
  if (bytes > MAX_BYTES_A_COMMIT) throw new BatchTooLargeError(bytes, MAX_BYTES_A_COMMIT)
}

/** What the traits of users count together; `users`: to select them from. For {@link requireFits}. */
export async function traitBytesOf(db: Pick<Db, '$queryRaw'>, users: Sql): Promise<number> {
  const [found] = await db.$queryRaw<{ bytes: number }[]>(sql`
    SELECT coalesce(sum(trait_bytes), 0)::float8 AS bytes FROM ${users}`)
  return found?.bytes ?? 0
}

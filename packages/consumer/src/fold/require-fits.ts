import { type Db, sql, type Sql } from '@nextvisit/database'
import { BatchTooLargeError } from '../errors.ts'

/** Maximum bytes of long rows in one commit. Far below the limits of a statement's time and of one message to Postgres. */
export const MAX_BYTES_A_COMMIT = 16 * 1024 * 1024

/** Maximum bytes of the counts of one event of one user: two names, a slug, and up to 153 instants. */
export const MAX_BYTES_AN_EVENT = 2_560

interface LoadedRows {
  readonly rows: number
  readonly maxBytesARow: number
  /** Rows of users' events beside them, present or not. */
  readonly eventRows: number
}

/**
 * Throws {@link BatchTooLargeError} if the rows of `records` records are too long for one commit: the core then folds the
 * batch in parts. One record always fits. `measure` is called only if the rows could be too long. For `load`.
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

/** Returns the bytes of the traits of `users`, a table to select from. For {@link requireFits}. */
export async function readTraitBytes(db: Pick<Db, '$queryRaw'>, users: Sql): Promise<number> {
  const [found] = await db.$queryRaw<{ bytes: number }[]>(sql`
    SELECT coalesce(sum(trait_bytes), 0)::float8 AS bytes FROM ${users}`)
  return found?.bytes ?? 0
}

import { BatchTooLargeError } from './errors.ts'

/**
 * How many bytes of long rows one commit may load and write. Far below what Postgres does within `statement_timeout`, and
 * what one message to it may hold.
 */
export const MAX_BYTES_A_COMMIT = 16 * 1024 * 1024

/**
 * For `load`: throws {@link BatchTooLargeError} where the rows of `records` records are too long for one commit, so that the
 * core folds the batch in parts. One record always fits. `measure` is only called where the rows could be too long.
 */
export async function requireFits(
  records: number,
  { rows, maxBytesARow }: { readonly rows: number; readonly maxBytesARow: number },
  measure: () => Promise<number>,
): Promise<void> {
  if (records === 1 || rows * maxBytesARow <= MAX_BYTES_A_COMMIT) return
  const bytes = await measure()
  if (bytes > MAX_BYTES_A_COMMIT) throw new BatchTooLargeError(bytes, MAX_BYTES_A_COMMIT)
}

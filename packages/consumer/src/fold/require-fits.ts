import { BatchTooLargeError } from '../core/errors.ts'

/** Maximum bytes of long rows in one commit. Far below the limits of a statement's time and of one message to Postgres. */
export const MAX_BYTES_A_COMMIT = 16 * 1024 * 1024

/**
 * Throws {@link BatchTooLargeError} if the rows of `records` records are too long for one commit: the batch is then folded in
 * parts. One record always fits. `measure` returns the bytes of the rows; it is called only if they could be too long or
 * might still fit. For `load`.
 */
export async function requireFits(
  records: number,
  { atLeast, atMost }: { readonly atLeast: number; readonly atMost: number },
  measure: () => Promise<number>,
): Promise<void> {
  if (records === 1 || atMost <= MAX_BYTES_A_COMMIT) return
  const bytes = atLeast > MAX_BYTES_A_COMMIT ? atLeast : await measure()
  if (bytes > MAX_BYTES_A_COMMIT) throw new BatchTooLargeError(bytes, MAX_BYTES_A_COMMIT)
}

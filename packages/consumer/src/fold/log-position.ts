import type { Watermarks } from '@nextvisit/log'
import { CheckpointOutsideLogError } from '../errors.ts'
import type { CheckpointKey } from '../tables.ts'

/**
 * Returns the offset to fetch from after an assignment: one record before the checkpoint, so that `unfoldedPartOf` can compare
 * it. A consumer may know older watermarks only; the fold skips records that it has folded.
 */
export function fetchOffsetOf(nextOffset: bigint, { low, high }: Watermarks): bigint {
  const next = nextOffset < high ? nextOffset : high
  return next > low ? next - 1n : next
}

/** Returns an error if the log neither holds `offset` nor ends there. */
export function outsideLog(key: CheckpointKey, offset: bigint, log: Watermarks): CheckpointOutsideLogError | undefined {
  return offset < log.low || offset > log.high ? new CheckpointOutsideLogError(key, offset, log) : undefined
}

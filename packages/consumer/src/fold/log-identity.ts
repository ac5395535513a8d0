import type { FetchedBatch, Watermarks } from '@nextvisit/log'
import { CheckpointOfAnotherLogError, CheckpointOutsideLogError } from '../errors.ts'
import type { Checkpoint, CheckpointKey } from './checkpoints.ts'
import { recordTimeOf } from './record-time.ts'

/**
 * Where to fetch from: one record before the checkpoint, so that the fold can see whether this is still the log that it
 * folded. A consumer may know older marks only; the fold skips what it has folded already.
 */
export function fetchOffsetOf(nextOffset: bigint, { low, high }: Watermarks): bigint {
  const next = nextOffset < high ? nextOffset : high
  return next > low ? next - 1n : next
}

/** Undefined where the log reaches from `offset` on, or ends there. */
export function outsideLog(key: CheckpointKey, offset: bigint, log: Watermarks): CheckpointOutsideLogError | undefined {
  return offset < log.low || offset > log.high ? new CheckpointOutsideLogError(key, offset, log) : undefined
}

/**
 * Throws {@link CheckpointOfAnotherLogError} where the batch holds the record before the checkpoint and its time is not
 * the one that was stored with the checkpoint. Where that offset holds no record, there is nothing to compare.
 */
export function requireSameLog(
  key: CheckpointKey,
  { nextOffset, recordTime }: Checkpoint,
  { records }: FetchedBatch,
): void {
  const last = records.find(({ offset }) => offset === nextOffset - 1n)
  if (!last || recordTime === undefined || recordTimeOf(last) === recordTime) return
  throw new CheckpointOfAnotherLogError(key, nextOffset, { folded: recordTime, found: recordTimeOf(last) })
}

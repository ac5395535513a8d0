import type { FetchedBatch, FetchedRecord, Watermarks } from '@nextvisit/log'
import { CheckpointOfAnotherLogError, CheckpointOutsideLogError, GapError } from '../core/errors.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import type { PartitionBatch } from './partition-batch.ts'
import { type CheckpointKey, recordTimeOf } from '../core/tables.ts'

/**
 * Returns the part of a fetched batch beyond the checkpoint; undefined if there is none. Throws {@link GapError} if the
 * batch begins after the checkpoint, and {@link CheckpointOfAnotherLogError} if the record before the checkpoint is in the
 * batch and is not the one that was folded.
 */
export function unfoldedPartOf(
  checkpoint: PartitionCheckpoint,
  batch: FetchedBatch,
  deadBecause: PartitionBatch['deadBecause'],
): PartitionBatch | undefined {
  const { key } = checkpoint
  const { nextOffset: from, recordTime } = checkpoint.current()
  if (batch.fetchedFrom > from) throw new GapError(key, from, batch.fetchedFrom)
  const begin = batch.records.findIndex((record) => lastOffsetOf(record) >= from)
  const before = begin < 0 ? batch.records.at(-1) : batch.records[begin - 1]
  // The time of a stand-in is the greatest in its batch. The batch may have been damaged after its last record was folded.
  const found = before?.offset === from - 1n && !before.undecodable ? recordTimeOf(before) : recordTime
  if (recordTime !== undefined && found !== undefined && found !== recordTime)
    throw new CheckpointOfAnotherLogError(key, from, { folded: recordTime, found })
  if (batch.nextOffset <= from) return undefined
  const records = begin < 0 ? [] : batch.records.slice(begin)
  const [first] = records
  // Stands in for an undecodable batch whose first records were folded, before it was damaged.
  if (first && first.offset < from) records[0] = { ...first, offset: from }
  return { checkpoint, records, nextOffset: batch.nextOffset, fetch: batch.fetch, deadBecause }
}

/** Returns the offset of a record, or the last offset of an undecodable batch. */
function lastOffsetOf({ offset, undecodable }: FetchedRecord): bigint {
  return undecodable?.lastOffset ?? offset
}

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

import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { CheckpointOfAnotherLogError, GapError } from '../errors.ts'
import { type PartitionCheckpoint, recordTimeOf } from './checkpoint.ts'
import type { DeadBecause } from './decode-facts.ts'

/** The part of a fetched batch that one partition contributes to a commit. It begins at the checkpoint. */
export interface PartitionBatch {
  readonly checkpoint: PartitionCheckpoint
  readonly records: readonly FetchedRecord[]
  /** The checkpoint once the batch is committed. */
  readonly nextOffset: bigint
  readonly deadBecause?: DeadBecause | undefined
}

/**
 * Returns the part of a fetched batch beyond the checkpoint; undefined if there is none. Throws {@link GapError} if the
 * batch begins after the checkpoint, and {@link CheckpointOfAnotherLogError} if the record before the checkpoint is in the
 * batch and is not the one that was folded.
 */
export function unfoldedPartOf(
  checkpoint: PartitionCheckpoint,
  batch: FetchedBatch,
  deadBecause?: DeadBecause,
): PartitionBatch | undefined {
  const { key } = checkpoint
  const { nextOffset: from, recordTime } = checkpoint.current()
  if (batch.fetchedFrom > from) throw new GapError(key, from, batch.fetchedFrom)
  const begin = batch.records.findIndex(({ offset }) => offset >= from)
  const before = begin < 0 ? batch.records.at(-1) : batch.records[begin - 1]
  if (before?.offset === from - 1n && recordTime !== undefined && recordTimeOf(before) !== recordTime) {
    throw new CheckpointOfAnotherLogError(key, from, { folded: recordTime, found: recordTimeOf(before) })
  }
  if (batch.nextOffset <= from) return undefined
  const records = begin === 0 ? batch.records : begin < 0 ? [] : batch.records.slice(begin)
  return { checkpoint, records, nextOffset: batch.nextOffset, deadBecause }
}

import { UndecodableBatchError } from '../errors.ts'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import type { FetchedBatch } from './group-reader.ts'

/**
 * Splits what a fetch returned of a partition into batches of at most `maxBatchRecords`. Each begins where the one before it
 * ended, and the last one ends before a batch of the log that cannot be decoded. Throws UndecodableBatchError if that comes
 * first.
 */
export function toFetchedBatches(
  fetched: Omit<FetchedPartition, 'errorCode'>,
  maxBatchRecords: number,
): readonly FetchedBatch[] {
  const { topic, partition, highWatermark, records, nextOffset: end, undecodable } = fetched
  let { fetchedFrom } = fetched
  if (undecodable && end === fetchedFrom) {
    throw new UndecodableBatchError(topic, partition, fetchedFrom, { cause: undecodable })
  }
  const batches: FetchedBatch[] = []
  for (let at = 0; fetchedFrom < end; at += maxBatchRecords) {
    const nextOffset = records[at + maxBatchRecords]?.offset ?? end
    const part = records.slice(at, at + maxBatchRecords)
    batches.push({ topic, partition, fetchedFrom, nextOffset, highWatermark, records: part })
    fetchedFrom = nextOffset
  }
  return batches
}

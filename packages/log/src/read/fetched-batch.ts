import { UndecodableBatchError } from '../errors.ts'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import type { FetchedRecord } from '../wire/decode-batches.ts'

/** The result of fetching one partition. Offsets have gaps, so the batch carries the offset at which the fetch began. */
export interface FetchedBatch {
  readonly topic: string
  readonly partition: number
  readonly fetchedFrom: bigint
  /** One past the last offset of this fetch. */
  readonly nextOffset: bigint
  readonly highWatermark: bigint
  readonly records: readonly FetchedRecord[]
}

/**
 * Splits a fetched partition into batches of at most `maxBatchRecords`. Each begins where the previous one ended. The last
 * ends before an undecodable batch of the log. Throws UndecodableBatchError if the undecodable batch comes first.
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

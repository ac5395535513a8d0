import { UndecodableBatchError } from '../src/errors.ts'
import { type FetchedBatch, fetchedBatches } from '../src/read/fetched-batch.ts'
import type { FetchedRecord } from '../src/wire/fetched-record.ts'
import type { FetchedPartition } from '../src/wire/fetch-message.ts'
import { splitBatches } from '../src/wire/split-batches.ts'
import { type EncodedBatch, encodedBatches } from './encoded-batch.ts'

const LENGTH_BYTES = 4
const END_OF_LOG = 2n ** 63n - 1n

/** Returns partition 3 of a topic as a fetch from this offset returns it. */
export function givenFetched(
  encoded: readonly EncodedBatch[],
  fetchedFrom = 0n,
  { highWatermark = END_OF_LOG } = {},
): FetchedPartition {
  const of = { topic: 'any', partition: 3, fetchedFrom, highWatermark }
  const bytes = encodedBatches(encoded).subarray(LENGTH_BYTES)
  return { ...of, errorCode: 0, ...splitBatches({ ...of, abortedTransactions: [], bytes }) }
}

interface ReadOptions {
  readonly maxRecords?: number
  readonly maxBytes?: number
  readonly withStandIns?: boolean
}

/** Decodes a fetched partition. `error`: the batch after the others cannot be decoded. */
export async function readFetched(
  fetched: FetchedPartition,
  { maxRecords = 1_000, maxBytes = 1_000_000, withStandIns = false }: ReadOptions = {},
) {
  const batches: FetchedBatch[] = []
  let error: UndecodableBatchError | undefined
  try {
    for await (const batch of fetchedBatches(fetched, { bounds: { maxRecords, maxBytes }, withStandIns }))
      batches.push(batch)
  } catch (thrown) {
    if (!(thrown instanceof UndecodableBatchError)) throw thrown
    error = thrown
  }
  const records: readonly FetchedRecord[] = batches.flatMap((batch) => batch.records)
  return { batches, records, nextOffset: batches.at(-1)?.nextOffset ?? fetched.fetchedFrom, error }
}

import { silentLogger } from '../connect/kafka-client.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { type FetchedBatch, fetchedBatches } from './fetched-batch.ts'
import { createLogFetcher } from './log-fetcher.ts'

/** Reads partitions whenever it is asked, over a connection that it keeps. Single caller. */
export interface OnDemandReader {
  /**
   * Fetches once, without a wait for new records. Returns what it found from each position on: at most about 1 MiB, in
   * batches that are in order within each partition. Rejects if the broker does not answer, with PositionOutsideLogError, and
   * with UndecodableBatchError, unless `withStandIns`.
   */
  readonly read: (positions: ReadonlyMap<number, bigint>) => Promise<readonly FetchedBatch[]>
  /** Closes the connection. */
  readonly stop: () => void
}

interface OnDemandReaderOptions {
  readonly logger?: Logger
  /** Maximum number of records in a batch. */
  readonly maxBatchRecords: number
  /** True: an undecodable batch becomes one record (`FetchedRecord.undecodable`). Default: false. */
  readonly withStandIns?: boolean
}

/** Small, because a reader beside the folds takes no part in their budget. */
const MAX_BYTES_PER_PARTITION = 256 * 1024
const MAX_FETCH_BYTES = 1024 * 1024

/** Creates a reader, which connects at its first call and again after an error. */
export function createOnDemandReader(
  connection: LogConnection,
  topic: string,
  { logger = silentLogger, maxBatchRecords, withStandIns = false }: OnDemandReaderOptions,
): OnDemandReader {
  const stopping = new AbortController()
  const fetcher = createLogFetcher(connection, topic, {
    maxBytesPerPartition: MAX_BYTES_PER_PARTITION,
    maxBytes: MAX_FETCH_BYTES,
    maxWaitMs: 0,
    logger,
    signal: stopping.signal,
  })
  const decoding = { bounds: { maxRecords: maxBatchRecords, maxBytes: MAX_FETCH_BYTES }, withStandIns }

  return {
    read: async (positions) => {
      const batches: FetchedBatch[] = []
      for (const fetched of await fetcher.fetch(positions)) {
        for await (const batch of fetchedBatches(fetched, decoding)) batches.push(batch)
      }
      return batches
    },
    stop: () => stopping.abort(),
  }
}

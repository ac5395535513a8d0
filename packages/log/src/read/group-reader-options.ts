import type { Logger } from '../connect/log-connection.ts'
import type { Watermarks } from '../watermarks.ts'
import type { FetchedBatch } from './fetched-batch.ts'

export interface GroupReaderOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Maximum records per batch. Larger fetches are split. Default: 1,000; less with many partitions (`read-budget.ts`). */
  readonly maxBatchRecords?: number
  /**
   * True: an undecodable batch becomes one record (`FetchedRecord.undecodable`). Default:
   * false, the partition is unreadable.
   */
  readonly withStandIns?: boolean
  /**
   * Default: 1,100,000, above Kafka's default maximum record size. A broker returns a larger record only while no other
   * partition has records, so it would wait behind busy partitions.
   */
  readonly maxBytesPerPartition?: number
  /**
   * Maximum time in ms for which the broker holds a fetch that finds no records. Default: 2,000. Limited to 100 while a
   * partition handles a batch, because its next fetch waits for the current one.
   */
  readonly maxWaitMs?: number
  /** Time in ms without a heartbeat after which the partitions move to other members. Default: 9,000. */
  readonly sessionTimeoutMs?: number
  /** Minimum heartbeat interval in ms. Default: 1,500, so that a heartbeat follows each fetch that finds no records. */
  readonly heartbeatIntervalMs?: number
  /** Maximum time in ms for which a rebalance waits for a member that handles a batch. Default: 15,000. */
  readonly rebalanceTimeoutMs?: number
  /** Maximum time in ms for which `start` waits for brokers and for missing topics. Default: 30,000. */
  readonly startWithinMs?: number
  /** Metadata to commit with each offset. At most 4,096 bytes. */
  readonly commitNote?: () => string
  readonly logger?: Logger
}

/** The reader continues at `offset`, not after the batch: it reads the rest of the batch again. */
export interface ContinueAt {
  readonly offset: bigint
}

export interface GroupReaderHandlers {
  /**
   * Returns the positions to read from. Called at every assignment, before the first fetch. A partition without a position
   * is owned, but not read. If it throws, or a position is outside the watermarks, the reader stops (`onCrash`).
   */
  readonly positions: (
    topic: string,
    partitions: ReadonlyMap<number, Watermarks>,
  ) => Promise<ReadonlyMap<number, bigint>>
  /**
   * Handles one batch of a partition at a time. A slow batch delays its own partition only. If it throws, the reader stops
   * (`onCrash`).
   */
  readonly onBatch: (batch: FetchedBatch) => Promise<ContinueAt | void>
  /**
   * Resolves when the next fetch may go to the broker that returned these batches, the latest of each partition. Called once
   * they are handled, or half a second after they arrived. Default: at once.
   */
  readonly mayFetch?: (last: readonly FetchedBatch[]) => Promise<void>
  /**
   * Called when a partition cannot be read. Its position is no longer in the log: it is not read until the next assignment.
   * Its records cannot be decoded (`UndecodableBatchError`): the reader retries once a minute. Or its broker keeps refusing
   * it (`PartitionRefusedError`, at each refusal): the reader retries. Default: the reader stops (`onCrash`), unless the
   * error is retryable.
   */
  readonly onUnreadable?: (topic: string, partition: number, error: Error) => void
  /** Called after each rebalance with the partitions that this process now owns: an empty map if it owns none. */
  readonly onAssigned?: (assigned: ReadonlyMap<string, readonly number[]>) => void
  /** The reader has failed and does not recover: exit the process. */
  readonly onCrash: (error: Error) => void
}

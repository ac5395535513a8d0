import type { Logger } from '../connect/log-connection.ts'
import type { FetchedRecord } from '../fetched-record.ts'
import type { Watermarks } from '../watermarks.ts'

/** What one fetch of one partition returned. Offsets have gaps, so the batch also says where the fetch began. */
export interface FetchedBatch {
  readonly topic: string
  readonly partition: number
  readonly fetchedFrom: bigint
  /** One past the last offset of this fetch. */
  readonly nextOffset: bigint
  readonly highWatermark: bigint
  readonly records: readonly FetchedRecord[]
}

export interface GroupReaderOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** A larger fetch is passed on in parts. Default 1,000. */
  readonly maxBatchRecords?: number
  /**
   * Default 1.1 MB, above the largest record that a topic takes as Kafka is delivered: a broker hands out a larger one only
   * while no other partition has records, so that it waits beside busy ones.
   */
  readonly maxBytesPerPartition?: number
  /**
   * How long the broker may hold a fetch that finds nothing, in milliseconds. Default 2,000; at most 100 while a partition has
   * a batch, since that is read on only after the fetch of the others.
   */
  readonly maxWaitMs?: number
  /** After this time without a heartbeat the partitions go to others. Default 9,000. */
  readonly sessionTimeoutMs?: number
  /** The least time between two, in milliseconds. Default 1,500, so that one follows each fetch that found nothing. */
  readonly heartbeatIntervalMs?: number
  /** How long a rebalance waits for a member that handles a batch. Default 15,000. */
  readonly rebalanceTimeoutMs?: number
  /** How long `start` waits for brokers, and for topics that do not exist yet. Default 30,000. */
  readonly startWithinMs?: number
  /** A text that is committed with each offset, for whoever looks at the group. At most 4,096 bytes. */
  readonly commitNote?: () => string
  readonly logger?: Logger
}

export interface GroupReaderHandlers {
  /**
   * Where to begin. Called at every assignment, before the first fetch, with the watermarks. A partition that is left out
   * is owned, but not read. After a throw, or with a position outside the watermarks, the consumer stops with an alarm:
   * kafkajs would reset silently.
   */
  readonly positions: (
    topic: string,
    partitions: ReadonlyMap<number, Watermarks>,
  ) => Promise<ReadonlyMap<number, bigint>>
  /**
   * Called for one batch of a partition at a time. May take as long as it needs: only its partition waits. A throw stops
   * this consumer for good (`onCrash`).
   */
  readonly onBatch: (batch: FetchedBatch) => Promise<void>
  /**
   * Resolves when the broker that sent these batches may be asked for more. Called once they are handled, or half a second
   * after they came. Left out: at once.
   */
  readonly mayFetch?: (last: readonly FetchedBatch[]) => Promise<void>
  /**
   * The log does not hold this partition's position any more, or the records there cannot be decoded. The partition is not
   * read until the next assignment. Left out: the consumer stops for good (`onCrash`).
   */
  readonly onUnreadable?: (topic: string, partition: number, error: Error) => void
  /** Called after each rebalance with the partitions that this process owns now. Empty: it owns none. */
  readonly onAssigned?: (assigned: ReadonlyMap<string, readonly number[]>) => void
  /** The consumer has ended for good: exit the process. */
  readonly onCrash: (error: Error) => void
}

export interface GroupReader {
  readonly start: () => Promise<void>
  /** Leaves the group, after the current batch. */
  readonly stop: () => Promise<void>
  readonly assigned: () => ReadonlyMap<string, readonly number[]>
}

import { readWatermarks } from '../admin/with-log-admin.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import type { Watermarks } from '../watermarks.ts'
import { type FetchedBatch, toFetchedBatches } from './fetched-batch.ts'
import { createLogFetcher, FETCHER_TIMEOUTS } from './log-fetcher.ts'
import { requireInLog } from './require-in-log.ts'

export interface ReadLogOptions {
  readonly topic: string
  /** Position of each partition to read. */
  readonly from: ReadonlyMap<number, bigint>
  /** Called for one batch at a time, in order within each partition. */
  readonly onBatch: (batch: FetchedBatch) => void | Promise<void>
  /**
   * `end`: reads to the log's end at the start of the call. A map: reads each partition up to this offset, exclusive.
   * Default: reads until `signal` is aborted.
   */
  readonly until?: 'end' | ReadonlyMap<number, bigint> | undefined
  /** Reads each partition to its end before the next, in the order of the positions. Default: false, all at once. */
  readonly isOneByOne?: boolean
  readonly signal?: AbortSignal
  readonly maxBytesPerPartition?: number
  readonly maxBatchRecords?: number
  /** Default: 30,000 with `until`, else never. */
  readonly giveUpAfterMs?: number
  readonly logger?: Logger
}

/**
 * Reads partitions without a consumer group: commits no offsets, never rebalances, and has no session to lose. Prefetches once
 * while batches are handled, so two fetches are held. Resolves at the end or when aborted. Rejects with the errors of
 * `onBatch`, with PositionOutsideLogError if a position is not in the log, and if the log is unreachable for `giveUpAfterMs`.
 */
export async function readLog(connection: LogConnection, options: ReadLogOptions): Promise<void> {
  const { topic, until, onBatch, logger = silentLogger } = options
  const { maxBatchRecords = 1_000, maxBytesPerPartition = 1024 * 1024 } = options
  const { giveUpAfterMs = until === undefined ? Infinity : 30_000 } = options
  const ending = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, ending.signal]) : ending.signal
  const trying = { message: 'Cannot read the log; retrying', logger, signal, giveUpAfterMs }
  const fetcher = createLogFetcher(connection, topic, { maxBytesPerPartition, logger, signal })
  try {
    const watermarks = await keepTrying(
      () => readWatermarks(connection, topic, { ...FETCHER_TIMEOUTS, logger }),
      trying,
    )
    const cursor = createCursor(options, watermarks)
    let positions = cursor.positions()
    while (positions.size > 0) {
      const current = positions
      const fetched = await keepTrying(() => fetcher.fetch(current), trying)
      const batches = fetched.flatMap((one) => toFetchedBatches(one, maxBatchRecords))
      const wanted = batches.flatMap((batch) => cursor.advance(batch) ?? [])
      positions = cursor.positions()
      if (positions.size > 0) fetcher.prefetch(positions)
      for (const batch of wanted) {
        await onBatch(batch)
        signal.throwIfAborted()
      }
    }
  } catch (error) {
    if (!options.signal?.aborted || error !== options.signal.reason) throw error
  } finally {
    ending.abort()
  }
}

interface Cursor {
  /** Positions of the next fetch, without partitions that are read to the end. */
  readonly positions: () => ReadonlyMap<number, bigint>
  /** Moves past the batch and returns its part before the end. */
  readonly advance: (batch: FetchedBatch) => FetchedBatch | undefined
}

function createCursor(
  { topic, from, until, isOneByOne = false }: ReadLogOptions,
  watermarks: ReadonlyMap<number, Watermarks>,
): Cursor {
  const positions = new Map<number, bigint>()
  const ends = new Map<number, bigint>()
  for (const [partition, position] of from) {
    const marks = watermarks.get(partition)
    requireInLog(topic, partition, position, marks)
    const end = until === 'end' ? marks.high : until?.get(partition)
    if (end !== undefined) ends.set(partition, end)
    if (end === undefined || position < end) positions.set(partition, position)
  }

  const advance: Cursor['advance'] = (batch) => {
    const { partition, records } = batch
    if (!positions.has(partition)) return undefined
    const end = ends.get(partition)
    if (end === undefined || batch.nextOffset < end) {
      // Goes to the end of the order, in which a broker serves partitions until the response is full.
      if (!isOneByOne) positions.delete(partition)
      positions.set(partition, batch.nextOffset)
      return batch
    }
    positions.delete(partition)
    return { ...batch, nextOffset: end, records: records.filter(({ offset }) => offset < end) }
  }

  return { positions: () => new Map(isOneByOne ? [...positions].slice(0, 1) : positions), advance }
}

import { readWatermarks } from '../admin/with-log-admin.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { createCluster } from '../connect/cluster.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'
import { BrokerUnreachableError, PartitionRefusedError, PositionOutsideLogError } from '../errors.ts'
import { requireInLog } from './require-in-log.ts'
import { NO_ERROR, OFFSET_OUT_OF_RANGE } from '../wire/error-codes.ts'
import { type FetchedPartition, fetchMessage } from '../wire/fetch-message.ts'
import { type FetchedBatch, toFetchedBatches } from './fetched-batch.ts'
import type { Watermarks } from '../watermarks.ts'

export interface ReadOptions {
  /**
   * `end`: reads to the log's end at the start of the call. A map: reads each partition up to this offset, exclusive.
   * Default: reads until `signal` is aborted.
   */
  readonly until?: 'end' | ReadonlyMap<number, bigint>
  /** Reads each partition to its end before the next, in the order of the positions. Default: false, all at once. */
  readonly isOneByOne?: boolean
  readonly signal?: AbortSignal
}

interface LogReader {
  /**
   * Reads partitions from the given positions, one batch at a time, in order within each partition. Prefetches once while
   * batches are handled, so two fetches are held. Resolves at the end or when aborted. Rejects with the errors of `onBatch`,
   * with PositionOutsideLogError if a position is not in the log, and if the log is unreachable for `giveUpAfterMs`.
   */
  readonly readFrom: (
    topic: string,
    from: ReadonlyMap<number, bigint>,
    onBatch: (batch: FetchedBatch) => void | Promise<void>,
    options?: ReadOptions,
  ) => Promise<void>
}

interface LogReaderOptions {
  readonly maxBytesPerPartition?: number
  readonly maxBatchRecords?: number
  /** Default: 30,000 when reading to an end, never when following. */
  readonly giveUpAfterMs?: number
  readonly logger?: Logger
}

const TIMEOUTS = { connectTimeoutMs: 3_000, requestTimeoutMs: 5_000 }
/** Maximum time for which the broker holds a fetch that finds no records. */
const MAX_WAIT_MS = 100

/** Creates a reader without a consumer group: it commits no offsets, never rebalances, and has no session to lose. */
export function createLogReader(connection: LogConnection, options: LogReaderOptions = {}): LogReader {
  const { logger = silentLogger, maxBatchRecords = 1_000 } = options
  const fetcherOptions = { maxBytesPerPartition: options.maxBytesPerPartition ?? 1024 * 1024, logger }

  const readFrom: LogReader['readFrom'] = async (topic, from, onBatch, reading = {}) => {
    const giveUpAfterMs = options.giveUpAfterMs ?? (reading.until === undefined ? Infinity : 30_000)
    const ending = new AbortController()
    const signal = reading.signal ? AbortSignal.any([reading.signal, ending.signal]) : ending.signal
    const trying = { message: 'Cannot read the log; retrying', logger, signal, giveUpAfterMs }
    let fetcher: LogFetcher | undefined
    const closeFetcher = (): void => {
      fetcher?.close(new Error('The reader closed this connection'))
      fetcher = undefined
    }
    const fetch = async (positions: ReadonlyMap<number, bigint>): Promise<readonly FetchedPartition[]> => {
      try {
        fetcher ??= await connectFetcher(connection, topic, fetcherOptions)
        signal.throwIfAborted()
        return await fetcher.fetch(positions)
      } catch (error) {
        closeFetcher()
        throw error
      }
    }
    /** The prefetch. Resolves to undefined if it failed, as it does while a handler blocks the event loop for seconds. */
    let ahead: Promise<readonly FetchedPartition[] | undefined> | undefined
    const fetchNext = async (positions: ReadonlyMap<number, bigint>) => {
      const fetched = await ahead
      ahead = undefined
      return fetched ?? fetch(positions)
    }

    signal.addEventListener('abort', closeFetcher)
    try {
      const watermarks = await keepTrying(() => readWatermarks(connection, topic, { ...TIMEOUTS, logger }), trying)
      const cursor = createCursor(topic, from, watermarks, reading)
      let positions = cursor.positions()
      while (positions.size > 0) {
        const current = positions
        const fetched = await keepTrying(() => fetchNext(current), trying)
        const batches = fetched.flatMap((one) => toFetchedBatches(one, maxBatchRecords))
        const wanted = batches.flatMap((batch) => cursor.advance(batch) ?? [])
        positions = cursor.positions()
        if (positions.size > 0) ahead = fetch(positions).catch(() => undefined)
        for (const batch of wanted) {
          await onBatch(batch)
          signal.throwIfAborted()
        }
      }
    } catch (error) {
      if (!reading.signal?.aborted || error !== reading.signal.reason) throw error
    } finally {
      ending.abort()
    }
  }

  return { readFrom }
}

interface Cursor {
  /** Positions of the next fetch, without partitions that are read to the end. */
  readonly positions: () => ReadonlyMap<number, bigint>
  /** Moves past the batch and returns its part before the end. */
  readonly advance: (batch: FetchedBatch) => FetchedBatch | undefined
}

function createCursor(
  topic: string,
  from: ReadonlyMap<number, bigint>,
  watermarks: ReadonlyMap<number, Watermarks>,
  { until, isOneByOne = false }: ReadOptions,
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

interface LogFetcher {
  /** Fetches once from each position. Rejects with PositionOutsideLogError if one is not in the log. */
  readonly fetch: (positions: ReadonlyMap<number, bigint>) => Promise<readonly FetchedPartition[]>
  /** Closes the connection. A fetch in flight rejects. */
  readonly close: (reason: Error) => void
}

/** Connects a fetcher of a topic without a consumer group. It does not refresh the leaders: reconnect after any error. */
async function connectFetcher(
  connection: LogConnection,
  topic: string,
  { maxBytesPerPartition, logger }: { readonly maxBytesPerPartition: number; readonly logger: Logger },
): Promise<LogFetcher> {
  const retry = { retries: 2, initialRetryTime: 50, maxRetryTime: 250 }
  const cluster = createCluster(connection, { ...TIMEOUTS, retry, logger })
  const { connectTimeoutMs } = TIMEOUTS
  try {
    await within(connectTimeoutMs, cluster.connect([topic]), () => new BrokerUnreachableError(connectTimeoutMs))
  } catch (error) {
    cluster.close(new BrokerUnreachableError(connectTimeoutMs, { cause: error }))
    throw error
  }

  const fetch: LogFetcher['fetch'] = async (positions) => {
    const all = Array.from(positions, ([partition, offset]) => ({ topic, partition, offset }))
    const limits = { maxWaitMs: MAX_WAIT_MS, maxBytesPerPartition, maxBytes: 10 * maxBytesPerPartition }
    const fetches = Array.from(cluster.byLeader(all), ([nodeId, led]) =>
      cluster.send(nodeId, fetchMessage({ ...limits, positions: led })),
    )
    const fetched = (await Promise.all(fetches)).flat()
    for (const { errorCode, partition, fetchedFrom } of fetched) {
      if (errorCode === OFFSET_OUT_OF_RANGE) throw new PositionOutsideLogError(topic, partition, fetchedFrom)
      if (errorCode !== NO_ERROR) throw new PartitionRefusedError(topic, partition, errorCode)
    }
    return fetched
  }

  return { fetch, close: cluster.close }
}

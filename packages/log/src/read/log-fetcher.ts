import { createCluster, type LogCluster } from '../connect/cluster.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'
import { BrokerUnreachableError, PartitionRefusedError, PositionOutsideLogError } from '../errors.ts'
import { NO_ERROR, OFFSET_OUT_OF_RANGE } from '../wire/error-codes.ts'
import { type FetchedPartition, fetchMessage } from '../wire/fetch-message.ts'

/** Fetches partitions of a topic without a consumer group. Single caller. */
interface LogFetcher {
  /**
   * Fetches once from each position, or returns the result of a prefetch. Rejects with PositionOutsideLogError if a position is
   * not in the log. The next fetch after an error connects again, because a partition may have another leader.
   */
  readonly fetch: (positions: ReadonlyMap<number, bigint>) => Promise<readonly FetchedPartition[]>
  /** Begins the next fetch. Its failure is ignored: `fetch` fetches again. */
  readonly prefetch: (positions: ReadonlyMap<number, bigint>) => void
}

interface LogFetcherOptions {
  readonly maxBytesPerPartition: number
  /** Maximum bytes of one fetch, from all brokers together. The first batch of each may be larger. */
  readonly maxBytes: number
  /** Maximum time in ms for which the broker holds a fetch that finds no records. Default: 100. */
  readonly maxWaitMs?: number
  readonly logger: Logger
  /** Closes the connection when it is aborted. A fetch in flight rejects. */
  readonly signal: AbortSignal
}

export const FETCHER_TIMEOUTS = { connectTimeoutMs: 3_000, requestTimeoutMs: 5_000 }
const MAX_WAIT_MS = 100

/** Creates a fetcher, which connects at its first fetch. */
export function createLogFetcher(connection: LogConnection, topic: string, options: LogFetcherOptions): LogFetcher {
  const { logger, signal } = options
  let cluster: LogCluster | undefined
  /** Resolves to undefined if the prefetch failed, as it does while a handler blocks the event loop for seconds. */
  let ahead: Promise<readonly FetchedPartition[] | undefined> | undefined

  function close(): void {
    cluster?.close(new Error('The reader closed this connection'))
    cluster = undefined
  }

  async function fetch(positions: ReadonlyMap<number, bigint>): Promise<readonly FetchedPartition[]> {
    try {
      cluster ??= await connectCluster(connection, topic, logger)
      signal.throwIfAborted()
      return await fetchOnce(cluster, topic, positions, options)
    } catch (error) {
      close()
      throw error
    }
  }

  signal.addEventListener('abort', close)
  return {
    fetch: async (positions) => {
      const fetched = await ahead
      ahead = undefined
      return fetched ?? fetch(positions)
    },
    prefetch: (positions) => {
      ahead = fetch(positions).catch(() => undefined)
    },
  }
}

async function connectCluster(connection: LogConnection, topic: string, logger: Logger): Promise<LogCluster> {
  const retry = { retries: 2, initialRetryTime: 50, maxRetryTime: 250 }
  const cluster = createCluster(connection, { ...FETCHER_TIMEOUTS, retry, logger })
  const { connectTimeoutMs } = FETCHER_TIMEOUTS
  try {
    await within(connectTimeoutMs, cluster.connect([topic]), () => new BrokerUnreachableError(connectTimeoutMs))
    return cluster
  } catch (error) {
    cluster.close(new BrokerUnreachableError(connectTimeoutMs, { cause: error }))
    throw error
  }
}

async function fetchOnce(
  cluster: LogCluster,
  topic: string,
  positions: ReadonlyMap<number, bigint>,
  {
    maxBytesPerPartition,
    maxBytes,
    maxWaitMs = MAX_WAIT_MS,
  }: Pick<LogFetcherOptions, 'maxBytesPerPartition' | 'maxBytes' | 'maxWaitMs'>,
): Promise<readonly FetchedPartition[]> {
  const all = Array.from(positions, ([partition, offset]) => ({ topic, partition, offset }))
  const byLeader = cluster.byLeader(all)
  const limits = {
    maxWaitMs,
    maxBytesPerPartition,
    maxBytes: Math.ceil(maxBytes / Math.max(1, byLeader.size)),
  }
  const fetches = Array.from(byLeader, ([nodeId, led]) =>
    cluster.send(nodeId, fetchMessage({ ...limits, positions: led })),
  )
  const fetched = (await Promise.all(fetches)).flat()
  for (const { errorCode, partition, fetchedFrom } of fetched) {
    if (errorCode === OFFSET_OUT_OF_RANGE) throw new PositionOutsideLogError(topic, partition, fetchedFrom)
    if (errorCode !== NO_ERROR) throw new PartitionRefusedError(topic, partition, errorCode)
  }
  return fetched
}

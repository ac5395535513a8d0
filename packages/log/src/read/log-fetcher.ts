import { createCluster } from '../connect/cluster.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'
import { BrokerUnreachableError, PartitionRefusedError, PositionOutsideLogError } from '../errors.ts'
import { NO_ERROR, OFFSET_OUT_OF_RANGE } from '../wire/error-codes.ts'
import { type FetchedPartition, fetchMessage } from '../wire/fetch-message.ts'

interface LogFetcherOptions {
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Maximum time for which the broker holds a fetch that finds no records. */
  readonly maxWaitMs: number
  readonly maxBytesPerPartition: number
  readonly logger: Logger
}

export interface LogFetcher {
  /** Fetches once from each position. Rejects with PositionOutsideLogError if one is not in the log. */
  readonly fetch: (positions: ReadonlyMap<number, bigint>) => Promise<readonly FetchedPartition[]>
  /** Closes the connection. A fetch in flight rejects. */
  readonly close: (reason: Error) => void
}

/** Connects a fetcher of a topic without a consumer group. It does not refresh the leaders: reconnect after any error. */
export async function connectFetcher(
  connection: LogConnection,
  topic: string,
  options: LogFetcherOptions,
): Promise<LogFetcher> {
  const { connectTimeoutMs, maxWaitMs, maxBytesPerPartition } = options
  const retry = { retries: 2, initialRetryTime: 50, maxRetryTime: 250 }
  const cluster = createCluster(connection, { ...options, retry })
  try {
    await within(connectTimeoutMs, cluster.connect([topic]), () => new BrokerUnreachableError(connectTimeoutMs))
  } catch (error) {
    cluster.close(new BrokerUnreachableError(connectTimeoutMs, { cause: error }))
    throw error
  }

  const fetch: LogFetcher['fetch'] = async (positions) => {
    const all = Array.from(positions, ([partition, offset]) => ({ topic, partition, offset }))
    const limits = { maxWaitMs, maxBytesPerPartition, maxBytes: 10 * maxBytesPerPartition }
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

import type { LogCluster } from '../connect/cluster.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { isRetryable } from '../connect/kafkajs-errors.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { fetchMessage } from '../wire/fetch-message.ts'
import { createAssignedPartitions } from './assigned-partitions.ts'
import type { FetchedBatch } from './fetched-batch.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from './group-reader-options.ts'
import { locatePositions } from './locate-positions.ts'
import { shareOf } from './read-budget.ts'
import { type ReadLoopParts, startReadLoop } from './read-loop.ts'

interface ReadAssignedParts {
  readonly connection: LogConnection
  readonly cluster: LogCluster
  readonly options: GroupReaderOptions
  readonly handlers: GroupReaderHandlers
  readonly latestBatches: Map<string, Promise<unknown>>
  readonly inFlight: Set<Promise<unknown>>
  /** Called after each fetch, since a heartbeat may be due. */
  readonly beatIfDue: () => void
  readonly onHandled: (batch: FetchedBatch) => void
  readonly onFailed: (error: Error) => void
}

/** Several thousand records. Larger fetches save no commits, and decoded records are held until they are folded. */
const MAX_FETCH_BYTES = 1024 * 1024

/** Locates the positions of assigned partitions, and begins to read them. `signal`: aborted at the end of the assignment. */
export async function readAssigned(
  owned: ReadonlyMap<string, readonly number[]>,
  parts: ReadAssignedParts,
  signal: AbortSignal,
): Promise<void> {
  const { connection, cluster, options, handlers, latestBatches, inFlight, beatIfDue, onHandled, onFailed } = parts
  const {
    maxBytesPerPartition = 1_100_000,
    maxBatchRecords = 1_000,
    withStandIns = false,
    maxWaitMs = 2_000,
    logger = silentLogger,
  } = options
  const positions = await locatePositions(connection, owned, handlers.positions, { logger, signal })
  if (signal.aborted) return
  handlers.onAssigned?.(owned)

  const fetch: ReadLoopParts['fetch'] = async (nodeId, led, holdMs) => {
    const limits = { maxWaitMs: holdMs, maxBytesPerPartition, maxBytes: MAX_FETCH_BYTES }
    const beganAt = performance.now()
    const fetched = await cluster.send(nodeId, fetchMessage({ ...limits, positions: led }), signal)
    const time = { beganAt, endedAt: performance.now() }
    beatIfDue()
    return fetched.map((one) => ({ ...one, fetch: time }))
  }
  const crashUnlessRetryable = (_topic: string, _partition: number, error: Error): void => {
    if (!isRetryable(error)) handlers.onCrash(error)
  }
  const partitions = createAssignedPartitions({
    positions,
    bounds: shareOf(positions.length, maxBatchRecords),
    withStandIns,
    onBatch: handlers.onBatch,
    latestBatches,
    inFlight,
    onHandled,
    onUnreadable: handlers.onUnreadable ?? crashUnlessRetryable,
    onThrow: handlers.onCrash,
    signal,
  })
  const { byLeader, refreshMetadata } = cluster
  const { mayFetch = async () => {} } = handlers
  startReadLoop({ ...partitions, byLeader, fetch, mayFetch, refreshMetadata, onFailed, maxWaitMs, logger }, signal)
}

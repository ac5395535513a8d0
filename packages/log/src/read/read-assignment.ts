import { setTimeout as sleep } from 'node:timers/promises'
import { readWatermarks } from '../admin/with-log-admin.ts'
import type { LogCluster } from '../connect/cluster.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { fetchMessage, type FetchPosition } from '../wire/fetch-message.ts'
import { type AssignedPartitionsOptions, createAssignedPartitions } from './assigned-partitions.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from './group-reader.ts'
import { createReadLoop, type ReadLoopParts } from './read-loop.ts'
import { requireInLog } from './require-in-log.ts'

interface AssignmentParts
  extends Pick<AssignedPartitionsOptions, 'latestBatches' | 'inFlight' | 'onHandled' | 'onThrow' | 'onUnreadable'> {
  readonly connection: LogConnection
  readonly cluster: LogCluster
  readonly options: GroupReaderOptions
  readonly handlers: Pick<GroupReaderHandlers, 'positions' | 'onBatch' | 'mayFetch' | 'onAssigned'>
  readonly logger: Logger
  /** Returns true once another assignment has replaced this one. */
  readonly isOver: () => boolean
  /** Called after each fetch. */
  readonly onFetched: () => void
  /** Called when fetches fail permanently or too often. */
  readonly onFailed: (error: Error) => void
  /** Aborted when the member stops. */
  readonly stopped: AbortSignal
  /** Aborted when the group rebalances. */
  readonly ending: AbortSignal
}

const MAX_ATTEMPTS_TO_LOCATE = 3
const LOCATE_AGAIN_AFTER_MS = 200
/** Several thousand records. Larger fetches save no commits, and decoded records are held until they are folded. */
const MAX_FETCH_BYTES = 1024 * 1024

/** Locates the positions of all partitions of an assignment, then starts to read them. Rejects if one cannot be located. */
export async function readAssignment(
  assigned: ReadonlyMap<string, readonly number[]>,
  parts: AssignmentParts,
): Promise<void> {
  const positions: FetchPosition[] = []
  for (const [topic, partitions] of assigned) {
    const found = await locate(topic, partitions, parts)
    if (parts.isOver()) return
    for (const [partition, offset] of found) positions.push({ topic, partition, offset })
  }
  parts.handlers.onAssigned?.(assigned)
  startLoop(positions, parts)
}

/**
 * Gets positions from the handlers and retries if one is refused: the partition's last owner may just have committed a batch
 * past the watermarks that were read before.
 */
async function locate(
  topic: string,
  partitions: readonly number[],
  { connection, handlers, logger, isOver, stopped }: AssignmentParts,
): Promise<ReadonlyMap<number, bigint>> {
  for (let attempt = 1; ; attempt += 1) {
    const trying = { message: 'Cannot read watermarks; retrying', logger, signal: stopped }
    const all = await keepTrying(() => readWatermarks(connection, topic, { logger }), trying)
    if (isOver()) return new Map()
    const watermarks = new Map([...all].filter(([partition]) => partitions.includes(partition)))
    try {
      const positions = await handlers.positions(topic, watermarks)
      for (const [partition, position] of positions) requireInLog(topic, partition, position, watermarks.get(partition))
      return positions
    } catch (error) {
      if (attempt === MAX_ATTEMPTS_TO_LOCATE || isOver()) throw error
      logger.debug({ topic, err: error }, 'Positions were refused; retrying')
      await sleep(LOCATE_AGAIN_AFTER_MS)
    }
  }
}

function startLoop(positions: readonly FetchPosition[], parts: AssignmentParts): void {
  const { cluster, options, handlers, logger } = parts
  const { maxBytesPerPartition = 1_100_000, maxBatchRecords = 1_000, maxWaitMs = 2_000 } = options
  const signal = AbortSignal.any([parts.stopped, parts.ending])
  const partitions = createAssignedPartitions({
    positions,
    maxBatchRecords,
    onBatch: handlers.onBatch,
    latestBatches: parts.latestBatches,
    inFlight: parts.inFlight,
    onHandled: parts.onHandled,
    onUnreadable: parts.onUnreadable,
    onThrow: parts.onThrow,
    signal,
  })
  const fetch: ReadLoopParts['fetch'] = async (nodeId, wanted, holdMs) => {
    const limits = { maxWaitMs: holdMs, maxBytesPerPartition, maxBytes: MAX_FETCH_BYTES }
    const fetched = await cluster.send(nodeId, fetchMessage({ ...limits, positions: wanted }), signal)
    parts.onFetched()
    return fetched
  }
  const loop = createReadLoop(
    {
      ...partitions,
      byLeader: cluster.byLeader,
      fetch,
      mayFetch: handlers.mayFetch ?? (async () => {}),
      refreshMetadata: cluster.refreshMetadata,
      onFailed: parts.onFailed,
      maxWaitMs,
      logger,
    },
    signal,
  )
  loop.wake()
}

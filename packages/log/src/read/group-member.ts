import { keyPartitionsNote } from '../admin/partition-count.ts'
import { createCluster } from '../connect/cluster.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { hasType, isRetryable } from '../connect/kafkajs-errors.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import { MemberClosedError, TopicMissingError } from '../errors.ts'
import { toError } from '../to-error.ts'
import { fetchMessage } from '../wire/fetch-message.ts'
import { createAssignedPartitions } from './assigned-partitions.ts'
import { createGroupMembership } from './group-membership.ts'
import type { FetchedBatch } from './fetched-batch.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from './group-reader-options.ts'
import { locatePositions } from './locate-positions.ts'
import { createOffsetCommits } from './offset-commits.ts'
import { type ReadLoopParts, startReadLoop } from './read-loop.ts'

/** A member of a Kafka consumer group that reads its partitions. Single use: create a new member after a failure. */
export interface GroupMember {
  readonly join: () => Promise<void>
  /** Leaves the group. Resolves once the batches in flight are handled. */
  readonly leave: () => Promise<void>
}

interface GroupMemberParts {
  readonly connection: LogConnection
  readonly options: GroupReaderOptions
  readonly handlers: GroupReaderHandlers
  /** Called when the member has lost its brokers or its group, and has left. A new member may join. */
  readonly onLost: (error: Error) => void
  /** The latest batch of each partition, over all members of a reader. */
  readonly latestBatches: Map<string, Promise<void>>
  /** The member starts no further batches once this signal is aborted. */
  readonly stopping: AbortSignal
}

/** Grace period in ms for batches in flight before a rebalance and before leaving. */
const FINISH_WITHIN_MS = 500
/** Timeout in ms for the last commit and for leaving the group: an unresponsive broker is not waited for longer. */
const LEAVE_WITHIN_MS = 2_000
/** Maximum time in ms until added partitions are noticed. */
const METADATA_MAX_AGE_MS = 10_000
/** Several thousand records. Larger fetches save no commits, and decoded records are held until they are folded. */
const MAX_FETCH_BYTES = 1024 * 1024

/** Creates a member that has not joined yet. */
export function createGroupMember(parts: GroupMemberParts): GroupMember {
  const { connection, options, handlers, onLost, latestBatches, stopping } = parts
  const { groupId, topics, logger = silentLogger } = options
  const { maxBytesPerPartition = 1_100_000, maxBatchRecords = 1_000, maxWaitMs = 2_000 } = options
  const ended = new AbortController()
  const signal = AbortSignal.any([stopping, ended.signal])
  const cluster = createCluster(connection, {
    connectTimeoutMs: 3_000,
    requestTimeoutMs: 5_000,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 },
    metadataMaxAgeMs: METADATA_MAX_AGE_MS,
    logger,
  })
  const { partitions: expected } = connection
  const noteOf = options.commitNote ?? (expected && (() => keyPartitionsNote(expected)))
  const commits = createOffsetCommits((offsets) => membership.commit(offsets), logger, noteOf)
  const inFlight = new Set<Promise<void>>()
  /** Aborted when the partitions of the current assignment are no longer read. */
  let assignment: AbortController | undefined
  let ending: Promise<void> | undefined

  function onAssigned(owned: ReadonlyMap<string, readonly number[]>): void {
    commits.discard()
    assignment?.abort()
    const begun = new AbortController()
    assignment = begun
    const current = AbortSignal.any([signal, begun.signal])
    readPartitions(owned, current, (batch) => {
      if (assignment === begun) noteHandled(batch)
    }).catch((error: unknown) => {
      // The partitions of an assignment that has ended are located again by their next owner.
      if (!current.aborted) handlers.onCrash(toError(error))
    })
  }

  async function readPartitions(
    owned: ReadonlyMap<string, readonly number[]>,
    current: AbortSignal,
    onHandled: (batch: FetchedBatch) => void,
  ): Promise<void> {
    const positions = await locatePositions(connection, owned, handlers.positions, { logger, signal: current })
    if (current.aborted) return
    handlers.onAssigned?.(owned)
    const fetch: ReadLoopParts['fetch'] = async (nodeId, led, holdMs) => {
      const limits = { maxWaitMs: holdMs, maxBytesPerPartition, maxBytes: MAX_FETCH_BYTES }
      const fetched = await cluster.send(nodeId, fetchMessage({ ...limits, positions: led }), current)
      membership.beatIfDue()
      return fetched
    }
    const partitions = createAssignedPartitions({
      positions,
      maxBatchRecords,
      onBatch: handlers.onBatch,
      latestBatches,
      inFlight,
      onHandled,
      onUnreadable: handlers.onUnreadable ?? ((_topic, _partition, error) => handlers.onCrash(error)),
      onThrow: handlers.onCrash,
      signal: current,
    })
    const { byLeader, refreshMetadata } = cluster
    const { mayFetch = async () => {} } = handlers
    startReadLoop({ ...partitions, byLeader, fetch, mayFetch, refreshMetadata, onFailed, maxWaitMs, logger }, current)
  }

  function noteHandled({ topic, partition, nextOffset }: FetchedBatch): void {
    commits.note(topic, partition, nextOffset)
    // A commit note is configured, so commit at once.
    if (signal.aborted || options.commitNote) void commits.flush()
  }

  /** Pauses reading. Batches that finish within the grace period are committed before another member begins. */
  async function onRebalance(): Promise<void> {
    assignment?.abort()
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(inFlight))
  }

  async function fail(error: Error): Promise<void> {
    if (signal.aborted) return
    await end()
    if (isRetryable(error)) onLost(error)
    else handlers.onCrash(error)
  }

  const onFailed = (error: Error): void => void fail(error)

  const membership = createGroupMembership(
    cluster,
    {
      groupId,
      topics,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 9_000,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 1_500,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 15_000,
    },
    { onAssigned, onRebalance, onFailed },
    signal,
  )

  function end(): Promise<void> {
    ended.abort()
    ending ??= closeMembership()
    return ending
  }

  async function closeMembership(): Promise<void> {
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(inFlight))
    const left = membership.leave(commits.flush).catch(() => {})
    await isSettledWithin(LEAVE_WITHIN_MS, left)
    if (assignment) handlers.onAssigned?.(new Map())
    assignment = undefined
    commits.discard()
    cluster.close(new MemberClosedError())
  }

  async function leave(): Promise<void> {
    await end()
    await Promise.allSettled(inFlight)
  }

  async function join(): Promise<void> {
    try {
      await cluster.connect(topics).catch((error: unknown) => {
        throw hasType(error, 'UNKNOWN_TOPIC_OR_PARTITION') ? new TopicMissingError(topics, { cause: error }) : error
      })
      await membership.join()
    } catch (error) {
      await leave()
      throw error
    }
  }

  return { join, leave }
}

import { keysNote } from '../admin/partition-count.ts'
import { createCluster } from '../connect/cluster.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { isRetryable, isUnknownTopic } from '../connect/kafkajs-errors.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import { MemberClosedError, TopicMissingError } from '../errors.ts'
import { toError } from '../to-error.ts'
import { createGroupMembership } from './group-membership.ts'
import type { FetchedBatch, GroupReaderHandlers, GroupReaderOptions } from './group-reader.ts'
import { createOffsetCommits } from './offset-commits.ts'
import { readAssignment } from './read-assignment.ts'

/** A member of a Kafka consumer group that reads its partitions. Single use: create a new member after a failure. */
export interface GroupMember {
  readonly join: () => Promise<void>
  /** Leaves the group. Resolves once the batches in flight are handled. */
  readonly leave: () => Promise<void>
}

interface GroupMemberOptions extends GroupReaderOptions {
  /** The latest batch of each partition, over all members of a reader. */
  readonly latestBatches: Map<string, Promise<void>>
}

interface GroupMemberHandlers extends GroupReaderHandlers {
  /** The member lost its brokers or its group and has left. A new member may join. */
  readonly onLost: (error: Error) => void
}

/** Grace period in ms for batches in flight before a rebalance and before leaving. */
const FINISH_WITHIN_MS = 500
/** Timeout in ms for leaving the group: an unresponsive broker is not waited for longer. */
const LEAVE_WITHIN_MS = 2_000
/** Maximum time in ms until added partitions are noticed. */
const METADATA_MAX_AGE_MS = 10_000

/** Creates a member that has not joined yet. After `outer` is aborted, it starts no further batches. */
export function createGroupMember(
  connection: LogConnection,
  options: GroupMemberOptions,
  handlers: GroupMemberHandlers,
  outer: AbortSignal,
): GroupMember {
  const { groupId, topics, logger = silentLogger } = options
  const ended = new AbortController()
  const signal = AbortSignal.any([outer, ended.signal])
  const cluster = createCluster(connection, {
    connectTimeoutMs: 3_000,
    requestTimeoutMs: 5_000,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 },
    metadataMaxAgeMs: METADATA_MAX_AGE_MS,
    logger,
  })
  const { partitions: expected } = connection
  const noteOf = options.commitNote ?? (expected && (() => keysNote(expected)))
  const commits = createOffsetCommits((offsets) => membership.commit(offsets), logger, noteOf)
  const inFlight = new Set<Promise<void>>()
  /** Aborted when the partitions of the current assignment are no longer read. */
  let assignment: AbortController | undefined

  function onAssigned(owned: ReadonlyMap<string, readonly number[]>): void {
    commits.discard()
    const begun = new AbortController()
    const isOver = (): boolean => assignment !== begun
    assignment?.abort()
    assignment = begun
    readAssignment(owned, {
      connection,
      cluster,
      options,
      handlers,
      logger,
      latestBatches: options.latestBatches,
      inFlight,
      isOver,
      onFetched: membership.beatIfDue,
      onHandled: (batch) => {
        if (!isOver()) noteHandled(batch)
      },
      onUnreadable: handlers.onUnreadable ?? ((_topic, _partition, error) => handlers.onCrash(error)),
      onThrow: handlers.onCrash,
      onFailed: (error) => void fail(error),
      stopped: signal,
      ending: begun.signal,
    }).catch((error: unknown) => {
      // Once the member ends, its work is aborted: that is no crash, and the reader joins again.
      if (!isOver() && !signal.aborted) handlers.onCrash(toError(error))
    })
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
    if (isRetryable(error)) handlers.onLost(error)
    else handlers.onCrash(error)
  }

  const membership = createGroupMembership(
    cluster,
    {
      groupId,
      topics,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 9_000,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 1_500,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 15_000,
    },
    { onAssigned, onRebalance, onFailed: (error) => void fail(error) },
    signal,
  )

  async function end(): Promise<void> {
    ended.abort()
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(inFlight))
    await commits.flush()
    await isSettledWithin(
      LEAVE_WITHIN_MS,
      membership.leave().catch(() => {}),
    )
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
        throw isUnknownTopic(error) ? new TopicMissingError(topics, { cause: error }) : error
      })
      await membership.join()
    } catch (error) {
      await leave()
      throw error
    }
  }

  return { join, leave }
}

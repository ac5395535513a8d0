import { keyPartitionsNote } from '../admin/partition-count.ts'
import { createCluster } from '../connect/cluster.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { hasType, isRetryable } from '../connect/kafkajs-errors.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import { MemberClosedError, TopicMissingError } from '../errors.ts'
import { toError } from '../to-error.ts'
import type { FetchedBatch } from './fetched-batch.ts'
import { createGroupSession } from './group-session.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from './group-reader-options.ts'
import { createOffsetCommits } from './offset-commits.ts'
import { readAssigned } from './read-assigned.ts'

/** A member of a Kafka consumer group that reads its partitions. Single use: create a new member after a failure. */
export interface GroupMember {
  readonly join: () => Promise<void>
  /** Returns false once others may own the partitions of this member. */
  readonly isHeld: () => boolean
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
  readonly latestBatches: Map<string, Promise<unknown>>
  /** The member starts no further batches once this signal is aborted. */
  readonly stopping: AbortSignal
}

/** Grace period in ms for batches in flight before a rebalance and before leaving. */
const FINISH_WITHIN_MS = 500
/** Timeout in ms for the last commit and for leaving the group: an unresponsive broker is not waited for longer. */
const LEAVE_WITHIN_MS = 2_000
/** Maximum time in ms until added partitions are noticed. */
const METADATA_MAX_AGE_MS = 10_000

/** Creates a member that has not joined yet. */
export function createGroupMember(parts: GroupMemberParts): GroupMember {
  const { connection, options, handlers, onLost, stopping } = parts
  const { groupId, topics, logger = silentLogger } = options
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
  const commits = createOffsetCommits((offsets) => session.commit(offsets), logger, noteOf)
  const inFlight = new Set<Promise<unknown>>()
  /** Aborted when the partitions of the current assignment are no longer read. */
  let assignment: AbortController | undefined
  let ending: Promise<void> | undefined

  function onAssigned(owned: ReadonlyMap<string, readonly number[]>): void {
    commits.discard()
    assignment?.abort()
    const begun = new AbortController()
    assignment = begun
    const onHandled = (batch: FetchedBatch): void => {
      if (assignment === begun) noteHandled(batch)
    }
    const current = AbortSignal.any([signal, begun.signal])
    const reading = { ...parts, cluster, inFlight, beatIfDue: session.beatIfDue, onHandled, onFailed }
    readAssigned(owned, reading, current).catch((error: unknown) => {
      // The partitions of an assignment that has ended are located again by their next owner.
      if (!current.aborted) handlers.onCrash(toError(error))
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
    if (isRetryable(error)) onLost(error)
    else handlers.onCrash(error)
  }

  const onFailed = (error: Error): void => void fail(error)

  const session = createGroupSession(
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
    ending ??= endSession()
    return ending
  }

  async function endSession(): Promise<void> {
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(inFlight))
    const left = session.leave(commits.flush).catch(() => {})
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
      await session.join()
    } catch (error) {
      await leave()
      throw error
    }
  }

  return { join, isHeld: session.isHeld, leave }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { keysNote } from '../admin/partition-count.ts'
import { readWatermarks } from '../admin/with-log-admin.ts'
import { createCluster } from '../connect/cluster.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { isRetryable, isUnknownTopic } from '../connect/kafkajs-errors.ts'
import type { LogConnection } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import { MemberClosedError, TopicMissingError } from '../errors.ts'
import { requireInLog } from './require-in-log.ts'
import { fetchMessage, type FetchPosition } from '../wire/fetch-message.ts'
import { createAssignedPartitions } from './assigned-partitions.ts'
import { createGroupMembership } from './group-membership.ts'
import { createOffsetCommits } from './offset-commits.ts'
import { createReadLoop, type ReadLoopParts } from './read-loop.ts'
import type { FetchedBatch, GroupReaderHandlers, GroupReaderOptions } from './group-reader.ts'

/** A member of a Kafka consumer group that reads its partitions. Single use: create a new member after a failure. */
export interface GroupMember {
  readonly join: () => Promise<void>
  /** Leaves the group. Resolves once the batches in flight are handled. */
  readonly leave: () => Promise<void>
  readonly assigned: () => ReadonlyMap<string, readonly number[]>
}

export interface GroupMemberHandlers extends GroupReaderHandlers {
  /** The member lost its brokers or its group and has left. A new member may join. */
  readonly onLost: (error: Error) => void
}

/** The partitions that the member owns from one join of the group to the next. */
interface Assignment {
  readonly owned: ReadonlyMap<string, readonly number[]>
  /** Aborted when these partitions are no longer read. */
  readonly ending: AbortController
}

const MAX_ATTEMPTS_TO_LOCATE = 3
const LOCATE_AGAIN_AFTER_MS = 200
/** Grace period in ms for batches in flight before a rebalance and before leaving. */
const FINISH_WITHIN_MS = 500
/** Timeout in ms for leaving the group: an unresponsive broker is not waited for longer. */
const LEAVE_WITHIN_MS = 2_000
/** Maximum time in ms until added partitions are noticed. */
const METADATA_MAX_AGE_MS = 10_000
/** Several thousand records. Larger fetches cost memory, since decoded records are held until they are folded, and save no commits. */
const MAX_FETCH_BYTES = 1024 * 1024

/** Creates a member that has not joined yet. After `outer` is aborted, it starts no further batches. */
export function createGroupMember(
  connection: LogConnection,
  options: GroupReaderOptions,
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
  const handling = new Set<Promise<void>>()
  let assignment: Assignment | undefined

  const onBatch = async (batch: FetchedBatch): Promise<void> => {
    const handled = handlers.onBatch(batch)
    handling.add(handled)
    await handled.finally(() => handling.delete(handled))
  }

  const onAssigned = (owned: ReadonlyMap<string, readonly number[]>): void => {
    commits.discard()
    const begun: Assignment = { owned, ending: new AbortController() }
    assignment?.ending.abort()
    assignment = begun
    begin(begun).catch((error: unknown) => {
      if (assignment === begun) handlers.onCrash(toError(error))
    })
  }

  /** Locates the positions of all partitions, then starts to read. */
  const begin = async (begun: Assignment): Promise<void> => {
    const isOver = (): boolean => assignment !== begun
    const positions: FetchPosition[] = []
    for (const [topic, ofTopic] of begun.owned) {
      const found = await locate(topic, ofTopic, isOver)
      if (isOver()) return
      for (const [partition, offset] of found) positions.push({ topic, partition, offset })
    }
    handlers.onAssigned?.(begun.owned)
    read(begun, positions)
  }

  /**
   * Gets positions from the handlers and retries if one is refused: the partition's last owner may just have committed a
   * batch past the watermarks that were read before.
   */
  const locate = async (
    topic: string,
    partitions: readonly number[],
    isOver: () => boolean,
  ): Promise<ReadonlyMap<number, bigint>> => {
    for (let attempt = 1; ; attempt += 1) {
      const trying = { message: 'Cannot read watermarks; retrying', logger, signal }
      const all = await keepTrying(() => readWatermarks(connection, topic, { logger }), trying)
      if (isOver()) return new Map()
      const watermarks = new Map([...all].filter(([partition]) => partitions.includes(partition)))
      try {
        const positions = await handlers.positions(topic, watermarks)
        for (const [partition, position] of positions)
          requireInLog(topic, partition, position, watermarks.get(partition))
        return positions
      } catch (error) {
        if (attempt === MAX_ATTEMPTS_TO_LOCATE || isOver()) throw error
        logger.debug({ topic, err: error }, 'Positions were refused; retrying')
        await sleep(LOCATE_AGAIN_AFTER_MS)
      }
    }
  }

  const read = (begun: Assignment, positions: readonly FetchPosition[]): void => {
    const until = AbortSignal.any([signal, begun.ending.signal])
    const maxBytesPerPartition = options.maxBytesPerPartition ?? 1_100_000
    const partitions = createAssignedPartitions({
      positions,
      maxBatchRecords: options.maxBatchRecords ?? 1_000,
      onBatch,
      onHandled: ({ topic, partition, nextOffset }) => {
        if (assignment !== begun) return
        commits.note(topic, partition, nextOffset)
        // A commit note is configured, so commit at once.
        if (signal.aborted || options.commitNote) void commits.flush()
      },
      onUnreadable: handlers.onUnreadable ?? ((_topic, _partition, error) => handlers.onCrash(error)),
      onThrow: handlers.onCrash,
      signal: until,
    })
    const fetch: ReadLoopParts['fetch'] = async (nodeId, wanted, maxWaitMs) => {
      const limits = { maxWaitMs, maxBytesPerPartition, maxBytes: MAX_FETCH_BYTES }
      const fetched = await cluster.send(nodeId, fetchMessage({ ...limits, positions: wanted }), until)
      membership.beatIfDue()
      return fetched
    }
    const loop = createReadLoop(
      {
        ...partitions,
        byLeader: cluster.byLeader,
        fetch,
        mayFetch: handlers.mayFetch ?? (async () => {}),
        refreshMetadata: cluster.refreshMetadata,
        onFailed: (error) => void fail(error),
        maxWaitMs: options.maxWaitMs ?? 2_000,
        logger,
      },
      until,
    )
    loop.wake()
  }

  /** Pauses reading. Batches that finish within the grace period are committed before another member begins. */
  const onRebalance = async (): Promise<void> => {
    assignment?.ending.abort()
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(handling))
  }

  const fail = async (error: Error): Promise<void> => {
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

  const end = async (): Promise<void> => {
    ended.abort()
    await isSettledWithin(FINISH_WITHIN_MS, Promise.allSettled(handling))
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

  const leave: GroupMember['leave'] = async () => {
    await end()
    await Promise.allSettled(handling)
  }

  const join: GroupMember['join'] = async () => {
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

  return { join, leave, assigned: () => assignment?.owned ?? new Map<string, readonly number[]>() }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

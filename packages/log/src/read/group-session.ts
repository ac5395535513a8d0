import type { OffsetsByTopicPartition } from 'kafkajs'
import { backOffAfter } from '../connect/keep-trying.ts'
import type { GroupOptions, LogCluster } from '../connect/cluster.ts'
import { hasGivenUp, hasType, isRetryable } from '../connect/kafkajs-errors.ts'
import { createSleeper } from '../sleeper.ts'

interface GroupSessionHandlers {
  /** Called after each join with the partitions that this member now owns. */
  readonly onAssigned: (assigned: ReadonlyMap<string, readonly number[]>) => void
  /** Called when the group rebalances. The member rejoins once the promise resolves. */
  readonly onRebalance: () => Promise<void>
  /** Called when heartbeats fail permanently, or for as long as a session lasts: the group evicts the member. */
  readonly onFailed: (error: Error) => void
}

/** A member's session in a Kafka consumer group: heartbeats, assignments and commits. It reads no records. */
interface GroupSession {
  /** Joins, and sends heartbeats until `signal` is aborted. */
  readonly join: () => Promise<void>
  /**
   * Returns false once the coordinator may have given the partitions to others: its last answer is older than a session, as after a pause of
   * the process.
   */
  readonly isHeld: () => boolean
  /** Sends a heartbeat now if one is due, which saves the process a wake-up. */
  readonly beatIfDue: () => void
  readonly commit: (offsets: OffsetsByTopicPartition) => Promise<void>
  /**
   * Commits for the last time and leaves the group. Abandons a pending join before, because the coordinator answers the
   * requests of a connection one after the other.
   */
  readonly leave: (commitLast: () => Promise<void>) => Promise<void>
}

const EVICTED = 'UNKNOWN_MEMBER_ID'
const REBALANCING = ['REBALANCE_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP', 'ILLEGAL_GENERATION']

const LONGEST_BACK_OFF_MS = 1_600
/** Longest pause, as a multiple of the heartbeat interval: a heartbeat that is due waits for `beatIfDue`. */
const LONGEST_PAUSE = 1.5
/** Heartbeats that the coordinator may leave unanswered, one after the other, before the session ends. */
const UNANSWERED_PER_SESSION = 3

export function createGroupSession(
  cluster: Pick<LogCluster, 'createGroup' | 'refreshMetadataIfOld'>,
  { heartbeatIntervalMs, ...options }: GroupOptions & { readonly heartbeatIntervalMs: number },
  { onAssigned, onRebalance, onFailed }: GroupSessionHandlers,
  signal: AbortSignal,
): GroupSession {
  const { sessionTimeoutMs, rebalanceTimeoutMs } = options
  const group = cluster.createGroup(options)
  const { sleep, wake } = createSleeper(signal)
  let isJoined = false
  let joining: Promise<void> | undefined
  let dueAtMs = Infinity
  let sessionEndsAtMs = Infinity
  let heldUntilMs = -Infinity

  async function join(): Promise<void> {
    joining = group.joinAndSync()
    try {
      await joining
    } finally {
      joining = undefined
    }
    isJoined = true
    renewSession()
    if (signal.aborted) return
    const owned = group.assigned().filter(({ partitions }) => partitions.length > 0)
    onAssigned(new Map(owned.map(({ topic, partitions }) => [topic, partitions.toSorted((a, b) => a - b)])))
  }

  /** `askedMs`: when the coordinator was asked. Its session begins later. */
  function renewSession(askedMs = performance.now()): void {
    sessionEndsAtMs = performance.now() + sessionTimeoutMs
    heldUntilMs = askedMs + sessionTimeoutMs
  }

  /** Closes the connections to the coordinator. Requests in flight reject, and the next request connects again. */
  function disconnect(reason: string): void {
    for (const { socket } of group.coordinator?.connectionPool.pool ?? []) socket?.destroy(new Error(reason))
  }

  async function sendHeartbeat(): Promise<void> {
    const leftMs = Math.max(0, sessionEndsAtMs - performance.now())
    const overdueMs = Math.min(leftMs, sessionTimeoutMs / UNANSWERED_PER_SESSION)
    let isSettled = false
    // After a blocked event loop the timer runs before the answer is read: the socket is polled in between.
    const disconnectUnlessSettled = () =>
      setImmediate(() => isSettled || disconnect('The coordinator does not answer heartbeats'))
    const timer = setTimeout(disconnectUnlessSettled, overdueMs)
    const askedMs = performance.now()
    try {
      await group.heartbeat({ interval: 0 })
      renewSession(askedMs)
    } finally {
      isSettled = true
      clearTimeout(timer)
    }
  }

  /** Refreshes metadata apart from the heartbeats, which a broker that does not answer would hold up. */
  function checkForAddedPartitions(): void {
    cluster.refreshMetadataIfOld().catch(() => {}) // repeated after the next heartbeat
    group.checkForStaleAssignment()
  }

  async function keepSession(): Promise<void> {
    try {
      await sendHeartbeat()
      checkForAddedPartitions()
    } catch (error) {
      if (signal.aborted || !mustRejoin(error)) throw error
      if (hasType(error, EVICTED)) group.memberId = null
      isJoined = false
      // A join waits for the other members, for longer than a session may last.
      sessionEndsAtMs += rebalanceTimeoutMs
      await onRebalance()
    }
  }

  async function stay(): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      dueAtMs = failures === 0 ? performance.now() + heartbeatIntervalMs : Infinity
      await sleep(failures === 0 ? LONGEST_PAUSE * heartbeatIntervalMs : backOffAfter(failures, LONGEST_BACK_OFF_MS))
      if (signal.aborted) return
      try {
        if (isJoined) await keepSession()
        if (!isJoined) await join()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        const isOver = performance.now() >= sessionEndsAtMs
        if (isOver || hasGivenUp(error) || !isRetryable(error)) return onFailed(error as Error)
      }
    }
  }

  return {
    join: async () => {
      await join()
      void stay()
    },
    isHeld: () => performance.now() < heldUntilMs,
    beatIfDue: () => {
      if (performance.now() >= dueAtMs) wake()
    },
    commit: (offsets) => group.commitOffsets(offsets),
    leave: async (commitLast) => {
      if (joining) {
        disconnect('The member leaves the group')
        await joining.catch(() => {})
      }
      await commitLast()
      await group.leave()
    },
  }
}

/** Returns true if the group rebalances, has evicted the member, or a topic has more partitions. */
function mustRejoin(error: unknown): boolean {
  if (error instanceof Error && error.name === 'KafkaJSStaleTopicMetadataAssignment') return true
  return hasType(error, EVICTED, ...REBALANCING)
}

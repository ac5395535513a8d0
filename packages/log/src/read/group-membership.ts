import type { OffsetsByTopicPartition } from 'kafkajs'
import { backOffAfter } from '../connect/back-off.ts'
import type { GroupOptions, LogCluster } from '../connect/cluster.ts'
import { hasGivenUp, isRetryable, isUnknownMember, mustJoinAgain } from '../connect/kafkajs-errors.ts'

interface GroupMembershipHandlers {
  /** Called after each join with the partitions that this member now owns. */
  readonly onAssigned: (assigned: ReadonlyMap<string, readonly number[]>) => void
  /** Called when the group rebalances. The member rejoins once the promise resolves. */
  readonly onRebalance: () => Promise<void>
  /** Called when heartbeats fail permanently or too often: the group will evict the member. */
  readonly onFailed: (error: Error) => void
}

/** Membership of a Kafka consumer group: heartbeats, assignments and commits. It reads no records. */
interface GroupMembership {
  /** Joins, and sends heartbeats until `signal` is aborted. */
  readonly join: () => Promise<void>
  /** Sends a heartbeat now if one is due, which saves the process a wake-up. */
  readonly beatIfDue: () => void
  readonly commit: (offsets: OffsetsByTopicPartition) => Promise<void>
  readonly leave: () => Promise<void>
}

/** Maximum consecutive failures of heartbeats. */
const MAX_FAILURES = 5
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 1_600
/** Longest pause, as a multiple of the heartbeat interval: a heartbeat that is due waits for `beatIfDue`. */
const LONGEST_PAUSE = 1.5

export function createGroupMembership(
  cluster: LogCluster,
  { heartbeatIntervalMs, ...options }: GroupOptions & { readonly heartbeatIntervalMs: number },
  { onAssigned, onRebalance, onFailed }: GroupMembershipHandlers,
  signal: AbortSignal,
): GroupMembership {
  const group = cluster.createGroup(options)
  let isJoined = false
  let dueAtMs = Infinity
  let endPause: (() => void) | undefined
  signal.addEventListener('abort', () => endPause?.())

  async function pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    endPause = resolve
    await promise
    clearTimeout(timer)
  }

  async function joinNow(): Promise<void> {
    await group.joinAndSync()
    isJoined = true
    if (signal.aborted) return
    const owned = group.assigned().filter(({ partitions }) => partitions.length > 0)
    onAssigned(new Map(owned.map(({ topic, partitions }) => [topic, partitions.toSorted((a, b) => a - b)])))
  }

  async function sendHeartbeat(): Promise<void> {
    try {
      await cluster.refreshMetadataIfOld()
      group.checkForStaleAssignment()
      await group.heartbeat({ interval: 0 })
    } catch (error) {
      if (signal.aborted || !mustJoinAgain(error)) throw error
      if (isUnknownMember(error)) group.memberId = null
      isJoined = false
      await onRebalance()
    }
  }

  async function stay(): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      dueAtMs = failures === 0 ? performance.now() + heartbeatIntervalMs : Infinity
      await pause(
        failures === 0
          ? LONGEST_PAUSE * heartbeatIntervalMs
          : backOffAfter(failures, FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS),
      )
      if (signal.aborted) return
      try {
        if (isJoined) await sendHeartbeat()
        if (!isJoined) await joinNow()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        if (failures > MAX_FAILURES || hasGivenUp(error) || !isRetryable(error)) return onFailed(error as Error)
      }
    }
  }

  return {
    join: async () => {
      await joinNow()
      void stay()
    },
    beatIfDue: () => {
      if (performance.now() >= dueAtMs) endPause?.()
    },
    commit: (offsets) => group.commitOffsets(offsets),
    leave: () => group.leave(),
  }
}

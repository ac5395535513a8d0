import { SINGLE_PARTITION_TOPICS } from '@nextvisit/contracts'
import {
  changedSinceFold,
  type ExpectedPartitions,
  type LogAdmin,
  PartitionsChangedError,
  requirePartitions,
} from '@nextvisit/log'
import { LogUnavailableError } from '../core/errors.ts'

/** The numbers of partitions of topics, and their changes. */
export interface PartitionCounts {
  /**
   * Returns the number of partitions that a topic's keys are spread over. It is constant while the process runs: otherwise
   * users would move to other partitions. Rejects with PartitionsChangedError while the topic has another number. Rejects with
   * LogUnavailableError and TopicMissingError, which are retryable. Reads no checkpoints, so it does not wait for Postgres.
   */
  readonly keyPartitionsInLog: (topic: string) => Promise<number>
  /** Returns the same, but also rejects with PartitionsChangedError if records were folded with another number. */
  readonly keyPartitionsOf: (topic: string) => Promise<number>
  /** Returns the change because of which a partition must not be folded. Otherwise rejects like `keyPartitionsOf`. */
  readonly changeOf: (topic: string, partition: number) => Promise<PartitionsChangedError | undefined>
}

const READ_AGAIN_AFTER_MS = 5_000

const SINGLE = { keyPartitions: 1, inTopic: 1 }

/**
 * Topics with one partition have one, whatever `expected` says. Without `expected`, the first count of a topic is its expected one. `readFoldedKeyPartitions` returns the numbers of
 * partitions that the keys of folded records were spread over; empty before the first record.
 */
export function createPartitionCounts(
  logAdmin: Pick<LogAdmin, 'partitionCount'>,
  expected: ExpectedPartitions | undefined,
  readFoldedKeyPartitions: () => Promise<readonly number[]>,
): PartitionCounts {
  const counters = new Map<string, () => Promise<number>>()
  const firstCounts = new Map<string, number>()
  const foldedKeyPartitions = shareReadings(expected ? readFoldedKeyPartitions : async () => [])

  async function count(topic: string): Promise<{ readonly found: number; readonly own: ExpectedPartitions }> {
    const counter = counters.get(topic) ?? shareReadings(() => logAdmin.partitionCount(topic), isFound)
    counters.set(topic, counter)
    const found = await counter().catch((cause: unknown) => {
      throw new LogUnavailableError({ cause })
    })
    const first = firstCounts.get(topic) ?? found
    if (isFound(first)) firstCounts.set(topic, first)
    if (SINGLE_PARTITION_TOPICS.has(topic)) return { found, own: SINGLE }
    return { found, own: expected ?? { keyPartitions: first, inTopic: first } }
  }

  async function keyPartitionsInLog(topic: string): Promise<number> {
    const { found, own } = await count(topic)
    return requirePartitions(topic, found, own)
  }

  return {
    keyPartitionsInLog,
    keyPartitionsOf: async (topic) => {
      const keyPartitions = await keyPartitionsInLog(topic)
      if (SINGLE_PARTITION_TOPICS.has(topic)) return keyPartitions
      const changed = changedSinceFold(topic, await foldedKeyPartitions(), keyPartitions)
      if (changed) throw changed
      return keyPartitions
    },
    changeOf: async (topic, partition) => {
      const { found, own } = await count(topic)
      const isAdded = partition >= own.inTopic
      if (!isAdded && found >= own.inTopic && SINGLE_PARTITION_TOPICS.has(topic)) return undefined
      if (!isAdded && found >= own.inTopic)
        return changedSinceFold(topic, await foldedKeyPartitions(), own.keyPartitions)
      return new PartitionsChangedError(topic, isAdded ? Math.max(found, partition + 1) : found, own.inTopic)
    },
  }
}

/** Returns false for a missing topic, which may be created. */
function isFound(partitions: number): boolean {
  return partitions > 0
}

/**
 * Returns a reader whose callers share each reading: the one in flight, and for some seconds its value, if `mayKeep`. A failed
 * reading keeps the last value: nothing can be published or fetched meanwhile.
 */
function shareReadings<Value>(
  read: () => Promise<Value>,
  mayKeep: (value: Value) => boolean = () => true,
): () => Promise<Value> {
  let kept: { readonly value: Value; readonly atMs: number } | undefined
  let inFlight: Promise<Value> | undefined

  async function readAgain(): Promise<Value> {
    const last = kept
    const value = await read().catch((error: unknown) => {
      if (last) return last.value
      throw error
    })
    if (mayKeep(value)) kept = { value, atMs: performance.now() }
    return value
  }

  return async () => {
    if (kept && performance.now() - kept.atMs < READ_AGAIN_AFTER_MS) return kept.value
    inFlight ??= readAgain().finally(() => (inFlight = undefined))
    return inFlight
  }
}

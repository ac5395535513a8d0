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
   * users would move to other partitions. Rejects with PartitionsChangedError while the topic has another number, or if
   * records were folded with another one. Rejects with LogUnavailableError and TopicMissingError, which are retryable.
   */
  readonly keyPartitionsOf: (topic: string) => Promise<number>
  /** Returns the change because of which a partition must not be folded. Otherwise rejects like `keyPartitionsOf`. */
  readonly changeOf: (topic: string, partition: number) => Promise<PartitionsChangedError | undefined>
}

const COUNT_AGAIN_AFTER_MS = 5_000

interface Counted {
  readonly expected: ExpectedPartitions
  readonly found: number
  readonly foldedKeyPartitions: readonly number[]
  readonly atMs: number
}

/**
 * Without `expected`, the first count of a topic is its expected one. `readFoldedKeyPartitions` returns the numbers of
 * partitions that the keys of folded records were spread over; empty before the first record.
 */
export function createPartitionCounts(
  logAdmin: Pick<LogAdmin, 'partitionCount'>,
  expected: ExpectedPartitions | undefined,
  readFoldedKeyPartitions: () => Promise<readonly number[]>,
): PartitionCounts {
  const known = new Map<string, Counted>()
  const inFlight = new Map<string, Promise<Counted>>()

  /** Concurrent callers share a count: Kafka may take long to answer. */
  async function count(topic: string): Promise<Counted> {
    const last = known.get(topic)
    if (last && performance.now() - last.atMs < COUNT_AGAIN_AFTER_MS) return last
    const counting = inFlight.get(topic) ?? countAgain(topic, last).finally(() => inFlight.delete(topic))
    inFlight.set(topic, counting)
    return counting
  }

  async function countAgain(topic: string, last: Counted | undefined): Promise<Counted> {
    const found = await logAdmin.partitionCount(topic).catch((cause: unknown) => {
      if (last) return last.found // meanwhile nothing can be published or fetched
      throw new LogUnavailableError({ cause })
    })
    const counted = {
      expected: expected ?? last?.expected ?? { keyPartitions: found, inTopic: found },
      found,
      foldedKeyPartitions: expected ? await readFolded(last) : [],
      atMs: performance.now(),
    }
    if (found > 0) known.set(topic, counted)
    return counted
  }

  async function readFolded(last: Counted | undefined): Promise<readonly number[]> {
    try {
      return await readFoldedKeyPartitions()
    } catch (error) {
      if (last) return last.foldedKeyPartitions
      throw error
    }
  }

  return {
    keyPartitionsOf: async (topic) => {
      const { found, expected: own, foldedKeyPartitions } = await count(topic)
      const keyPartitions = requirePartitions(topic, found, own)
      const changed = changedSinceFold(topic, foldedKeyPartitions, keyPartitions)
      if (changed) throw changed
      return keyPartitions
    },
    changeOf: async (topic, partition) => {
      const { found, expected: own, foldedKeyPartitions } = await count(topic)
      const isAdded = partition >= own.inTopic
      if (!isAdded && found >= own.inTopic) return changedSinceFold(topic, foldedKeyPartitions, own.keyPartitions)
      return new PartitionsChangedError(topic, isAdded ? Math.max(found, partition + 1) : found, own.inTopic)
    },
  }
}

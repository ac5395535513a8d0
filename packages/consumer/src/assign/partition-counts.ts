import {
  type ExpectedPartitions,
  foldedOtherwise,
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
  readonly keysOf: (topic: string) => Promise<number>
  /** Returns the change because of which a partition must not be folded. Rejects like `keysOf`, but not with that change. */
  readonly changeOf: (topic: string, partition: number) => Promise<PartitionsChangedError | undefined>
}

const COUNT_AGAIN_AFTER_MS = 5_000

interface Counted {
  readonly expected: ExpectedPartitions
  readonly found: number
  /** See `readFoldedKeys`. */
  readonly folded: readonly number[]
  readonly atMs: number
}

/**
 * Without `expected` the first count is the right one. `readFoldedKeys` returns the numbers of partitions that the keys of
 * folded records were spread over; empty before the first record.
 */
export function createPartitionCounts(
  logAdmin: Pick<LogAdmin, 'partitionCount'>,
  expected?: ExpectedPartitions,
  readFoldedKeys: () => Promise<readonly number[]> = () => Promise.resolve([]),
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
    const folded = !expected
      ? []
      : await readFoldedKeys().catch((error: unknown) => {
          if (last) return last.folded
          throw error
        })
    const counted = {
      expected: expected ?? last?.expected ?? { keys: found, inTopic: found },
      found,
      folded,
      atMs: performance.now(),
    }
    if (found > 0) known.set(topic, counted)
    return counted
  }

  return {
    keysOf: async (topic) => {
      const counted = await count(topic)
      const keys = requirePartitions(topic, counted.found, counted.expected)
      const changed = foldedOtherwise(topic, counted.folded, keys)
      if (changed) throw changed
      return keys
    },
    changeOf: async (topic, partition) => {
      const counted = await count(topic)
      const { inTopic } = counted.expected
      const isAdded = partition >= inTopic
      if (!isAdded && counted.found >= inTopic) return foldedOtherwise(topic, counted.folded, counted.expected.keys)
      return new PartitionsChangedError(
        topic,
        isAdded ? Math.max(counted.found, partition + 1) : counted.found,
        inTopic,
      )
    },
  }
}

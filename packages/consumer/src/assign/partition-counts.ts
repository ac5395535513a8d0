import {
  type ExpectedPartitions,
  foldedOtherwise,
  type LogAdmin,
  PartitionsChangedError,
  requirePartitions,
} from '@nextvisit/log'
import { LogUnavailableError } from '../errors.ts'

/** The numbers of partitions of topics, and their changes. */
export interface PartitionCounts {
  /**
   * Returns the number of partitions that a topic's keys are spread over. It is constant while the process runs: otherwise
   * users would move to other partitions. Rejects with PartitionsChangedError while the topic has another number, or if
   * records were folded with another one. Rejects with LogUnavailableError and TopicMissingError, which are retryable.
   */
  readonly keysOf: (topic: string) => Promise<number>
  /** Returns the reason why a partition must not be folded. Rejects like `keysOf`, but not with PartitionsChangedError. */
  readonly refusalOf: (topic: string, partition: number) => Promise<PartitionsChangedError | undefined>
}

const LOOK_AGAIN_AFTER_MS = 5_000

interface Seen {
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
  const known = new Map<string, Seen>()
  const underWay = new Map<string, Promise<Seen>>()

  /** Concurrent callers share a look: Kafka may take long to answer. */
  async function look(topic: string): Promise<Seen> {
    const last = known.get(topic)
    if (last && performance.now() - last.atMs < LOOK_AGAIN_AFTER_MS) return last
    const looking = underWay.get(topic) ?? lookAgain(topic, last).finally(() => underWay.delete(topic))
    underWay.set(topic, looking)
    return looking
  }

  async function lookAgain(topic: string, last: Seen | undefined): Promise<Seen> {
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
    const seen = {
      expected: expected ?? last?.expected ?? { keys: found, inTopic: found },
      found,
      folded,
      atMs: performance.now(),
    }
    if (found > 0) known.set(topic, seen)
    return seen
  }

  return {
    keysOf: async (topic) => {
      const seen = await look(topic)
      const keys = requirePartitions(topic, seen.found, seen.expected)
      const changed = foldedOtherwise(topic, seen.folded, keys)
      if (changed) throw changed
      return keys
    },
    refusalOf: async (topic, partition) => {
      const seen = await look(topic)
      const { inTopic } = seen.expected
      const isAdded = partition >= inTopic
      if (!isAdded && seen.found >= inTopic) return foldedOtherwise(topic, seen.folded, seen.expected.keys)
      return new PartitionsChangedError(topic, isAdded ? Math.max(seen.found, partition + 1) : seen.found, inTopic)
    },
  }
}

import { type ExpectedPartitions, type LogAdmin, PartitionsChangedError, requirePartitions } from '@nextvisit/log'
import { LogUnavailableError } from './errors.ts'

/** How many partitions topics have, and whether that has changed. */
export interface PartitionCounts {
  /**
   * Over how many partitions a topic's keys are spread. Never changes while the process runs: if it did, users would move to
   * other partitions. Rejects with PartitionsChangedError while the topic has another number, and with LogUnavailableError and
   * TopicMissingError, which may both pass.
   */
  readonly keysOf: (topic: string) => Promise<number>
  /** Why a partition must not be folded. Rejects like `keysOf`, but not with PartitionsChangedError. */
  readonly refusalOf: (topic: string, partition: number) => Promise<PartitionsChangedError | undefined>
}

const LOOK_AGAIN_AFTER_MS = 5_000

/** Without `expected` the first count that is seen is the right one. */
export function createPartitionCounts(
  logAdmin: Pick<LogAdmin, 'partitionCount'>,
  expected?: ExpectedPartitions,
): PartitionCounts {
  const known = new Map<
    string,
    { readonly expected: ExpectedPartitions; readonly found: number; readonly atMs: number }
  >()

  const look = async (topic: string) => {
    const last = known.get(topic)
    if (last && performance.now() - last.atMs < LOOK_AGAIN_AFTER_MS) return last
    const found = await logAdmin.partitionCount(topic).catch((cause: unknown) => {
      if (last) return last.found // nothing can be published or fetched meanwhile
      throw new LogUnavailableError({ cause })
    })
    const seen = {
      expected: expected ?? last?.expected ?? { keys: found, inTopic: found },
      found,
      atMs: performance.now(),
    }
    if (found > 0) known.set(topic, seen)
    return seen
  }

  return {
    keysOf: async (topic) => {
      const seen = await look(topic)
      return requirePartitions(topic, seen.found, seen.expected)
    },
    refusalOf: async (topic, partition) => {
      const seen = await look(topic)
      const { inTopic } = seen.expected
      const isAdded = partition >= inTopic
      if (!isAdded && seen.found >= inTopic) return undefined
      return new PartitionsChangedError(topic, isAdded ? Math.max(seen.found, partition + 1) : seen.found, inTopic)
    },
  }
}

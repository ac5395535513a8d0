import {
  type ExpectedPartitions,
  foldedOtherwise,
  type LogAdmin,
  PartitionsChangedError,
  requirePartitions,
} from '@nextvisit/log'
import { LogUnavailableError } from '../errors.ts'

/** How many partitions topics have, and whether that has changed. */
export interface PartitionCounts {
  /**
   * Over how many partitions a topic's keys are spread. Never changes while the process runs: if it did, users would move to
   * other partitions. Rejects with PartitionsChangedError while the topic has another number or records were folded with
   * another one, and with LogUnavailableError and TopicMissingError, which may both pass.
   */
  readonly keysOf: (topic: string) => Promise<number>
  /** Why a partition must not be folded. Rejects like `keysOf`, but not with PartitionsChangedError. */
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
 * Without `expected` the first count that is seen is the right one. `readFoldedKeys`: over how many partitions the keys of
 * folded records were spread; empty before the first.
 */
export function createPartitionCounts(
  logAdmin: Pick<LogAdmin, 'partitionCount'>,
  expected?: ExpectedPartitions,
  readFoldedKeys: () => Promise<readonly number[]> = () => Promise.resolve([]),
): PartitionCounts {
  const known = new Map<string, Seen>()
  const underWay = new Map<string, Promise<Seen>>()

  /** Callers that come together share a look: Kafka may take long to answer. */
  const look = async (topic: string): Promise<Seen> => {
    const last = known.get(topic)
    if (last && performance.now() - last.atMs < LOOK_AGAIN_AFTER_MS) return last
    const looking = underWay.get(topic) ?? lookAgain(topic, last).finally(() => underWay.delete(topic))
    underWay.set(topic, looking)
    return looking
  }

  const lookAgain = async (topic: string, last: Seen | undefined): Promise<Seen> => {
    const found = await logAdmin.partitionCount(topic).catch((cause: unknown) => {
      if (last) return last.found // nothing can be published or fetched meanwhile
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

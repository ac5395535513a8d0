import type { OffsetsByTopicPartition } from 'kafkajs'
import type { Logger } from '../connect/log-connection.ts'
import { topicPartition } from '../topic-partition.ts'

interface OffsetCommits {
  /** Notes the offset up to which a partition is handled. Notes are committed together, after a delay. */
  readonly note: (topic: string, partition: number, nextOffset: bigint) => void
  readonly flush: () => Promise<void>
  /** Drops all notes, because the partitions may belong to another member. */
  readonly discard: () => void
}

/** Each commit is a write on the broker: four a second would cost an idle stack more than its folds. */
const COMMIT_AFTER_MS = 5_000

/**
 * Commits offsets to Kafka for lag dashboards only: checkpoints are stored with the rows. No caller waits for a commit, and
 * a failure is logged as debug. `noteOf` returns metadata to commit with the offsets.
 */
export function createOffsetCommits(
  commit: (offsets: OffsetsByTopicPartition) => Promise<void>,
  logger: Logger,
  noteOf?: () => string,
): OffsetCommits {
  const noted = new Map<string, { topic: string; partition: number; offset: string }>()
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    if (noted.size === 0) return
    const metadata = noteOf?.() ?? null
    const topics = Map.groupBy(noted.values(), ({ topic }) => topic)
    const offsets = Array.from(topics, ([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(({ partition, offset }) => ({ partition, offset, metadata })),
    }))
    noted.clear()
    await commit({ topics: offsets }).catch((error: unknown) => {
      logger.debug({ err: error }, 'Could not commit offsets to Kafka; only lag dashboards miss them')
    })
  }

  return {
    note: (topic, partition, nextOffset) => {
      noted.set(topicPartition(topic, partition), { topic, partition, offset: nextOffset.toString() })
      timer ??= setTimeout(() => void flush(), COMMIT_AFTER_MS)
    },
    flush,
    discard: () => noted.clear(),
  }
}

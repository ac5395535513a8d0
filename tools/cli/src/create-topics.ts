import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** For user-events and form-events; can never be changed. Default: as many as the connection expects. */
  readonly partitions?: number | undefined
  /** Replicas of each record. Default: the broker's setting. */
  readonly replicas?: number | undefined
}

/** The topics contain the facts, so nothing may be deleted, neither by age nor by size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Readers of the catalog need the latest record of each organization. Older ones are kept for people, for 30 days. */
const COMPACTED = { ...KEPT_FOR_EVER, 'cleanup.policy': 'compact', 'min.compaction.lag.ms': '2592000000' }

/** Creates missing topics, and returns the state of each. Existing topics stay unchanged. */
export async function createTopics(
  connection: LogConnection,
  { partitions = connection.partitions?.inTopic ?? DEFAULT_PARTITIONS, replicas }: TopicsOptions = {},
): Promise<ReadonlyMap<string, 'made' | 'is there'>> {
  const made = new Map<string, 'made' | 'is there'>()
  await withLogAdmin(connection, async (admin) => {
    const wanted = [
      { topic: TOPICS.userEvents, partitions, config: KEPT_FOR_EVER },
      { topic: TOPICS.formEvents, partitions, config: KEPT_FOR_EVER },
      // The catalog needs one order for all its records, so it has one partition.
      { topic: TOPICS.catalog, partitions: 1, config: COMPACTED },
    ]
    for (const { topic, ...own } of wanted) {
      const isNew = await admin.createTopic(topic, settings(own, replicas))
      made.set(topic, isNew ? 'made' : 'is there')
    }
  })
  return made
}

function settings({ partitions, config }: TopicSettings, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: { ...config } }
  // An acknowledged record is on two machines, and one of them may fail.
  const safe = replicas >= 3 ? { ...config, 'min.insync.replicas': '2' } : { ...config }
  return { partitions, replicationFactor: replicas, config: safe }
}

import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** Number of partitions of user-events and form-events; can never be changed. Default: the connection's number. */
  readonly partitions?: number | undefined
  /** Replicas of each record. Default: the broker's setting. */
  readonly replicas?: number | undefined
}

/** Settings of topics with facts, which must never be deleted by age or size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Settings of the catalog. Readers need the latest record of each organization; operators see older ones for 30 days. */
const COMPACTED = { ...KEPT_FOR_EVER, 'cleanup.policy': 'compact', 'min.compaction.lag.ms': '2592000000' }

/** Creates missing topics, and returns the outcome for each. Existing topics stay unchanged. */
export async function createTopics(
  connection: LogConnection,
  { partitions = connection.partitions?.inTopic ?? DEFAULT_PARTITIONS, replicas }: TopicsOptions = {},
): Promise<ReadonlyMap<string, 'created' | 'exists'>> {
  const outcomes = new Map<string, 'created' | 'exists'>()
  await withLogAdmin(connection, async (admin) => {
    const wanted = [
      { topic: TOPICS.userEvents, partitions, config: KEPT_FOR_EVER },
      { topic: TOPICS.formEvents, partitions, config: KEPT_FOR_EVER },
      // The catalog needs one order for all its records, so it has one partition.
      { topic: TOPICS.catalog, partitions: 1, config: COMPACTED },
      // So do requests to erase users, which are few.
      { topic: TOPICS.erasures, partitions: 1, config: KEPT_FOR_EVER },
    ]
    for (const { topic, ...own } of wanted) {
      const isNew = await admin.createTopic(topic, settings(own, replicas))
      outcomes.set(topic, isNew ? 'created' : 'exists')
    }
  })
  return outcomes
}

function settings({ partitions, config }: TopicSettings, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: { ...config } }
  // Two replicas have each acknowledged record, so one machine may fail.
  const safe = replicas >= 3 ? { ...config, 'min.insync.replicas': '2' } : { ...config }
  return { partitions, replicationFactor: replicas, config: safe }
}

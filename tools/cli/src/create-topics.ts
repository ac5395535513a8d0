import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** For user-events and form-events; can never be changed. */
  readonly partitions?: number
  /** Replicas of each record. Default: the broker's setting. */
  readonly replicas?: number | undefined
}

/** The topics contain the facts, so nothing may be deleted, neither by age nor by size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Creates missing topics, and returns the state of each. Existing topics stay unchanged. */
export async function createTopics(
  connection: LogConnection,
  { partitions = DEFAULT_PARTITIONS, replicas }: TopicsOptions = {},
): Promise<ReadonlyMap<string, 'made' | 'is there'>> {
  const made = new Map<string, 'made' | 'is there'>()
  await withLogAdmin(connection, async (admin) => {
    for (const topic of [TOPICS.userEvents, TOPICS.formEvents, TOPICS.catalog]) {
      // The catalog needs one order for all its records, so it has one partition.
      const isNew = await admin.createTopic(topic, settings(topic === TOPICS.catalog ? 1 : partitions, replicas))
      made.set(topic, isNew ? 'made' : 'is there')
    }
  })
  return made
}

function settings(partitions: number, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: KEPT_FOR_EVER }
  // An acknowledged record is on two machines, and one of them may fail.
  const config = replicas >= 3 ? { ...KEPT_FOR_EVER, 'min.insync.replicas': '2' } : KEPT_FOR_EVER
  return { partitions, replicationFactor: replicas, config }
}

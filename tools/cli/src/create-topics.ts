import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** Of user-events and form-events; can never be changed. */
  readonly partitions?: number
  /** Copies of each record. Default: the broker's. */
  readonly replicas?: number | undefined
}

/** They are the facts, so nothing may delete them, neither age nor size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Makes the topics that are not there yet; returns which those were. Those that are there stay as they are. */
export async function createTopics(
  connection: LogConnection,
  { partitions = DEFAULT_PARTITIONS, replicas }: TopicsOptions = {},
): Promise<ReadonlyMap<string, 'made' | 'is there'>> {
  const made = new Map<string, 'made' | 'is there'>()
  await withLogAdmin(connection, async (admin) => {
    for (const topic of [TOPICS.userEvents, TOPICS.formEvents, TOPICS.catalog]) {
      // The catalog's order is across all of its records, so it has one partition.
      const isNew = await admin.createTopic(topic, settings(topic === TOPICS.catalog ? 1 : partitions, replicas))
      made.set(topic, isNew ? 'made' : 'is there')
    }
  })
  return made
}

function settings(partitions: number, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: KEPT_FOR_EVER }
  // An acknowledged record is on two machines, and one may be down.
  const config = replicas >= 3 ? { ...KEPT_FOR_EVER, 'min.insync.replicas': '2' } : KEPT_FOR_EVER
  return { partitions, replicationFactor: replicas, config }
}

import { DEFAULT_PARTITIONS, SEGMENTS_A_KEY_RETENTION, TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** Number of partitions of user-events, form-events and user-keys; can never be changed. Default: the connection's number. */
  readonly partitions?: number | undefined
  /** Replicas of each record. Default: the broker's setting. */
  readonly replicas?: number | undefined
  /** Time within which the keys of erased users leave user-keys. */
  readonly keyRetentionMs: number
}

export type TopicOutcome = 'created' | 'exists' | 'retention changed'

/** Settings of topics with facts, which must never be deleted by age or size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

/** Settings of the catalog. Readers need the latest record of each organization; operators see older ones for 30 days. */
const COMPACTED = { ...KEPT_FOR_EVER, 'cleanup.policy': 'compact', 'min.compaction.lag.ms': '2592000000' }

/** Kafka's default, ms. */
const DELETE_FILES_AFTER_MS = 60_000

/**
 * Returns the settings of user-keys. Kafka does not compact the segment that it writes to. A destroyed key therefore leaves
 * the files after three steps: its segment is closed (`segment.ms`), compacted (`max.compaction.lag.ms`), and its old file
 * deleted (`file.delete.delay.ms`). Each takes a part of the retention. Tombstones are for readers that are reading now.
 */
function keySettings(retentionMs: number): Readonly<Record<string, string>> {
  const partMs = String(Math.floor(retentionMs / SEGMENTS_A_KEY_RETENTION))
  return {
    ...KEPT_FOR_EVER,
    'cleanup.policy': 'compact',
    // The eraser compares these times with requests. The clock of a gateway may be wrong.
    'message.timestamp.type': 'LogAppendTime',
    'segment.ms': partMs,
    'max.compaction.lag.ms': partMs,
    'delete.retention.ms': partMs,
    'min.cleanable.dirty.ratio': '0.1',
    'file.delete.delay.ms': String(Math.min(DELETE_FILES_AFTER_MS, Math.floor(retentionMs / 10))),
  }
}

/**
 * Creates missing topics, and returns the outcome for each. Existing topics stay unchanged, except that user-keys gets the
 * settings of its retention.
 */
export async function createTopics(
  connection: LogConnection,
  { partitions = connection.partitions?.inTopic ?? DEFAULT_PARTITIONS, replicas, keyRetentionMs }: TopicsOptions,
): Promise<ReadonlyMap<string, TopicOutcome>> {
  const outcomes = new Map<string, TopicOutcome>()
  const ofKeys = keySettings(keyRetentionMs)
  await withLogAdmin(connection, async (admin) => {
    const wanted = [
      { topic: TOPICS.userEvents, partitions, config: KEPT_FOR_EVER },
      { topic: TOPICS.formEvents, partitions, config: KEPT_FOR_EVER },
      { topic: USER_KEYS_TOPIC, partitions, config: ofKeys },
      // These need one order for all their records, so they have one partition.
      { topic: TOPICS.catalog, partitions: 1, config: COMPACTED },
      { topic: TOPICS.erasures, partitions: 1, config: KEPT_FOR_EVER },
    ]
    for (const { topic, ...own } of wanted) {
      const isNew = await admin.createTopic(topic, settings(own, replicas))
      const isChanged = !isNew && topic === USER_KEYS_TOPIC && (await admin.changeTopic(topic, ofKeys))
      outcomes.set(topic, isNew ? 'created' : isChanged ? 'retention changed' : 'exists')
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

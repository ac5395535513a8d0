import { DEFAULT_PARTITIONS, SEGMENTS_A_KEY_RETENTION, TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { type LogAdmin, type LogConnection, type TopicSettings, withLogAdmin } from '@nextvisit/log'

export interface TopicsOptions {
  /** Number of partitions of user-events, form-events and user-keys; can never be changed. Default: the connection's number. */
  readonly partitions?: number | undefined
  /** Replicas of each record. Default: the broker's setting. */
  readonly replicas?: number | undefined
  /** Time within which the keys of erased users leave user-keys. Default: that of the existing topic, or 24 hours. */
  readonly keyRetentionMs?: number | undefined
}

export type TopicOutcome = 'created' | 'exists' | 'settings changed' | `retention ${string}`

const DEFAULT_KEY_RETENTION_MS = 86_400_000

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
 * settings of a retention that is requested, or of the default if it has none.
 */
export async function createTopics(
  connection: LogConnection,
  options: TopicsOptions = {},
): Promise<ReadonlyMap<string, TopicOutcome>> {
  const { partitions = connection.partitions?.inTopic ?? DEFAULT_PARTITIONS, replicas, keyRetentionMs } = options
  const outcomes = new Map<string, TopicOutcome>()
  const ofKeys = keySettings(keyRetentionMs ?? DEFAULT_KEY_RETENTION_MS)
  await withLogAdmin(connection, async (admin) => {
    const wanted = [
      { topic: TOPICS.userEvents, partitions, config: KEPT_FOR_EVER },
      { topic: TOPICS.formEvents, partitions, config: KEPT_FOR_EVER },
      { topic: USER_KEYS_TOPIC, partitions, config: ofKeys },
      // These need one order for all their records, so they have one partition.
      { topic: TOPICS.catalog, partitions: 1, config: COMPACTED },
      { topic: TOPICS.erasures, partitions: 1, config: KEPT_FOR_EVER },
      { topic: TOPICS.operatorChanges, partitions: 1, config: KEPT_FOR_EVER },
    ]
    for (const { topic, ...own } of wanted) {
      const isNew = await admin.createTopic(topic, settings(own, replicas))
      const mayChange = !isNew && topic === USER_KEYS_TOPIC
      outcomes.set(topic, isNew ? 'created' : mayChange ? await keepOrChange(admin, keyRetentionMs) : 'exists')
    }
  })
  return outcomes
}

/** Gives the existing topic of keys a requested retention, or the default if it has none. Otherwise it keeps its own. */
async function keepOrChange(admin: LogAdmin, requestedMs: number | undefined): Promise<TopicOutcome> {
  const segmentMs = (await admin.settingsOf(USER_KEYS_TOPIC)).get('segment.ms')
  if (segmentMs !== undefined && requestedMs === undefined) return 'exists'
  const retentionMs = requestedMs ?? DEFAULT_KEY_RETENTION_MS
  if (!(await admin.changeTopic(USER_KEYS_TOPIC, keySettings(retentionMs)))) return 'exists'
  const [from, to] = [segmentMs && inWords(SEGMENTS_A_KEY_RETENTION * Number(segmentMs)), inWords(retentionMs)]
  if (from === to) return 'settings changed'
  return from ? `retention changed from ${from} to ${to}` : `retention set to ${to}`
}

/** Returns a duration in its largest whole unit, such as `90m`. A day is `24h`. */
function inWords(ms: number): string {
  for (const [unit, unitMs] of [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const) {
    if (ms % unitMs === 0) return `${ms / unitMs}${unit}`
  }
  return `${ms / 1_000}s`
}

function settings({ partitions, config }: TopicSettings, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: { ...config } }
  // Two replicas have each acknowledged record, so one machine may fail.
  const safe = replicas >= 3 ? { ...config, 'min.insync.replicas': '2' } : { ...config }
  return { partitions, replicationFactor: replicas, config: safe }
}

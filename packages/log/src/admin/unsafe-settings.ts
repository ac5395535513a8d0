/** A topic's replicas and effective settings in the cluster. */
export interface TopicState {
  readonly topic: string
  /** Minimum number of replicas over all partitions. */
  readonly replicas: number
  /** Values by Kafka's setting names. */
  readonly config: ReadonlyMap<string, string>
}

export interface UnsafeSetting {
  /** Kafka's name of the setting. */
  readonly setting: string
  readonly is: string
  /** The topics with this value. */
  readonly topics: readonly string[]
  readonly shouldBe: string
  readonly because: string
}

interface Expectation {
  readonly setting: string
  readonly isSafe: (value: string, topic: string) => boolean
  readonly shouldBe: string
  readonly because: string
}

/** Readers of these topics need only the latest record of each key. */
const COMPACTED_TOPICS: ReadonlySet<string> = new Set(['catalog', 'user-keys'])
/** Without compaction, and without a limit of its delay, destroyed keys stay in this topic. */
const KEY_TOPIC = 'user-keys'
const LONGEST_COMPACTION_LAG_MS = 30 * 24 * 60 * 60 * 1_000

const EXPECTATIONS: readonly Expectation[] = [
  {
    setting: 'replication.factor',
    isSafe: (replicas) => Number(replicas) >= 3,
    shouldBe: '3 or more',
    because: 'a broker that is lost takes acknowledged records with it',
  },
  {
    setting: 'min.insync.replicas',
    isSafe: (replicas) => Number(replicas) >= 2,
    shouldBe: '2 or more',
    because: 'an acknowledged record may be on one broker only',
  },
  {
    setting: 'unclean.leader.election.enable',
    isSafe: (value) => value === 'false',
    shouldBe: 'false',
    because: 'a broker that missed acknowledged records may become the leader',
  },
  {
    setting: 'cleanup.policy',
    isSafe: (value, topic) =>
      (value === 'delete' && topic !== KEY_TOPIC) || (value === 'compact' && COMPACTED_TOPICS.has(topic)),
    shouldBe: 'delete (with no limit of time or size); for catalog also compact; for user-keys compact',
    because: 'compaction drops facts that read models are rebuilt from; without it, destroyed keys stay in user-keys',
  },
  {
    setting: 'max.compaction.lag.ms',
    isSafe: (value, topic) => topic !== KEY_TOPIC || Number(value) <= LONGEST_COMPACTION_LAG_MS,
    shouldBe: 'at most 30 days for user-keys: see ERASURE_KEY_RETENTION',
    because: 'the keys of erased users stay in the log until they are compacted',
  },
  ...['retention.ms', 'retention.bytes'].map((setting) => ({
    setting,
    isSafe: (value: string) => value === '-1',
    shouldBe: '-1',
    because: 'facts that are deleted cannot be folded again',
  })),
]

/** Returns the settings that could lose acknowledged records. Skips settings that the cluster does not report. */
export function unsafeSettings(states: readonly TopicState[]): readonly UnsafeSetting[] {
  return EXPECTATIONS.flatMap(({ setting, isSafe, shouldBe, because }) => {
    const judged = states.map((state) => ({ topic: state.topic, is: valueOf(state, setting) }))
    const unsafe = judged.flatMap(({ topic, is }) => (is === undefined || isSafe(is, topic) ? [] : { topic, is }))
    return Array.from(
      Map.groupBy(unsafe, ({ is }) => is),
      ([is, having]) => {
        return { setting, is, topics: having.map(({ topic }) => topic), shouldBe, because }
      },
    )
  })
}

function valueOf({ replicas, config }: TopicState, setting: string): string | undefined {
  return setting === 'replication.factor' ? String(replicas) : config.get(setting)
}

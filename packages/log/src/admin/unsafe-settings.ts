/** A topic's settings in the cluster, defaults included. */
export interface TopicState {
  readonly topic: string
  /** Replicas of the partition that has the fewest. */
  readonly replicas: number
  /** Kafka's own names. */
  readonly config: ReadonlyMap<string, string>
}

export interface UnsafeSetting {
  /** Kafka's own name. */
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

/** Its readers need the latest record of each key only. */
const COMPACTED_TOPIC = 'catalog'

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
    isSafe: (value, topic) => value === 'delete' || (value === 'compact' && topic === COMPACTED_TOPIC),
    shouldBe: 'delete (with no limit of time or size); for catalog also compact',
    because: 'compaction drops facts that read models are rebuilt from',
  },
  ...['retention.ms', 'retention.bytes'].map((setting) => ({
    setting,
    isSafe: (value: string) => value === '-1',
    shouldBe: '-1',
    because: 'facts that are deleted cannot be folded again',
  })),
]

/** The settings that could lose acknowledged records. A setting that the cluster does not report is not judged. */
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

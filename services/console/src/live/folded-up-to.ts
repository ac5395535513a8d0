import { type PartitionStatus, TOPICS } from '@nextvisit/contracts'
import { topicPartition } from '@nextvisit/log'
import type { ConsumersOperations } from '../operations/consumer-operations.ts'

/** Progress of a consumer, as its processes report it. */
export interface ConsumerProgress {
  readonly service: string
  readonly processes: number
  /** Number of processes that do not answer. */
  readonly silent: number
  /** Partitions of the others. */
  readonly partitions: readonly PartitionStatus[]
}

export interface FoldedUpTo {
  /** By partition of user-events: every consumer has folded the records below. Missing: a consumer has not reported it. */
  readonly offsets: ReadonlyMap<number, bigint>
  /** The consumer with the largest lag; null: none lags. */
  readonly furthest: { readonly service: string; readonly records: number; readonly seconds: number } | null
  /** Consumers with a process that does not answer. */
  readonly silent: readonly Omit<ConsumerProgress, 'partitions'>[]
}

export function progressOf(consumers: ConsumersOperations): readonly ConsumerProgress[] {
  return Array.from(consumers, ([service, processes]) => {
    const answers = processes.flatMap(({ answer }) => answer ?? [])
    return {
      service,
      processes: processes.length,
      silent: processes.length - answers.length,
      partitions: answers.flatMap(({ partitions }) => partitions),
    }
  })
}

/** Adds the last reports of partitions whose process is silent now: folded records stay folded. */
export function withLastReports(
  consumers: readonly ConsumerProgress[],
  last: readonly ConsumerProgress[],
): readonly ConsumerProgress[] {
  return consumers.map((consumer) => {
    const named = new Set(consumer.partitions.map(({ topic, partition }) => topicPartition(topic, partition)))
    const before = last.find(({ service }) => service === consumer.service)?.partitions ?? []
    const silent = before.filter(({ topic, partition }) => !named.has(topicPartition(topic, partition)))
    return { ...consumer, partitions: [...consumer.partitions, ...silent] }
  })
}

/** Computes how far every consumer has folded the log. `last`: the last report of each, including the present ones. */
export function foldedUpTo(consumers: readonly ConsumerProgress[], last = consumers): FoldedUpTo {
  const checkpoints = last.map(({ partitions }) => checkpointsOf(partitions))
  const [first = new Map<number, bigint>(), ...others] = checkpoints
  const shared = [...first.keys()].filter((partition) => others.every((offsets) => offsets.has(partition)))
  return {
    offsets: new Map(
      shared.map((partition) => [partition, smallest(checkpoints.flatMap((offsets) => offsets.get(partition) ?? []))]),
    ),
    furthest: furthestOf(consumers),
    silent: consumers.flatMap(({ service, processes, silent }) => (silent > 0 ? [{ service, processes, silent }] : [])),
  }
}

/** Returns the highest reported checkpoints: two processes may report a partition during a rebalance. */
function checkpointsOf(partitions: readonly PartitionStatus[]): ReadonlyMap<number, bigint> {
  const checkpoints = new Map<number, bigint>()
  for (const { topic, partition, nextOffset } of partitions) {
    if (topic !== TOPICS.userEvents) continue
    const offset = BigInt(nextOffset)
    const known = checkpoints.get(partition)
    if (known === undefined || offset > known) checkpoints.set(partition, offset)
  }
  return checkpoints
}

function smallest(offsets: readonly bigint[]): bigint {
  return offsets.reduce((least, offset) => (offset < least ? offset : least))
}

function furthestOf(consumers: readonly ConsumerProgress[]): FoldedUpTo['furthest'] {
  const lags = consumers.map(({ service, partitions }) => ({
    service,
    records: partitions.reduce((sum, { lagRecords }) => sum + lagRecords, 0),
    seconds: Math.max(0, ...partitions.map(({ lagSeconds }) => lagSeconds)),
  }))
  const [furthest] = lags.toSorted((one, other) => other.seconds - one.seconds || other.records - one.records)
  return furthest && furthest.records > 0 ? furthest : null
}

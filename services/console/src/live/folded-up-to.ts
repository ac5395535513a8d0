import { type PartitionStatus, TOPICS } from '@nextvisit/contracts'
import type { ConsumersOperations } from '../operations/consumer-operations.ts'

/** What the processes of a consumer said. */
export interface ConsumerProgress {
  readonly service: string
  readonly processes: number
  /** How many of them do not answer. */
  readonly silent: number
  /** Of the others. */
  readonly partitions: readonly PartitionStatus[]
}

export interface FoldedUpTo {
  /** By partition of user-events: what stands before is folded by every consumer. Missing: one of them has not said. */
  readonly offsets: ReadonlyMap<number, bigint>
  /** The consumer that is furthest behind; null: none is behind. */
  readonly furthest: { readonly service: string; readonly records: number; readonly seconds: number } | null
  /** Consumers of which a process does not answer. */
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

/** What each consumer said last of each partition: what a process that is silent now had folded stays folded. */
export function orLast(
  consumers: readonly ConsumerProgress[],
  last: readonly ConsumerProgress[],
): readonly ConsumerProgress[] {
  return consumers.map((consumer) => {
    const named = new Set(consumer.partitions.map(nameOf))
    const before = last.find(({ service }) => service === consumer.service)?.partitions ?? []
    return { ...consumer, partitions: [...consumer.partitions, ...before.filter((one) => !named.has(nameOf(one)))] }
  })
}

function nameOf({ topic, partition }: PartitionStatus): string {
  return `${topic}/${partition}`
}

/** How far the log is folded by every consumer. `last`: what each said last, the present answers with it. */
export function foldedUpTo(consumers: readonly ConsumerProgress[], last = consumers): FoldedUpTo {
  const checkpoints = last.map(({ partitions }) => checkpointsOf(partitions))
  const [first = new Map<number, bigint>(), ...others] = checkpoints
  const shared = [...first.keys()].filter((partition) => others.every((of) => of.has(partition)))
  return {
    offsets: new Map(
      shared.map((partition) => [partition, smallest(checkpoints.flatMap((of) => of.get(partition) ?? []))]),
    ),
    furthest: furthestOf(consumers),
    silent: consumers.flatMap(({ service, processes, silent }) => (silent > 0 ? [{ service, processes, silent }] : [])),
  }
}

/** While a partition moves, two processes may name it. A checkpoint that was reached once is never taken back. */
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

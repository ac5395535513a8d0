import type { Partition } from '../partition/partition.ts'
import type { ProgressTracker } from '../partition/progress-tracker.ts'
import type { ReportedPartition } from '../partition/partition-progress.ts'

/** The partitions of a projection's topic that the consumer group has assigned to this process. */
export interface OwnedPartitions {
  readonly all: () => readonly Partition[]
  readonly find: (partition: number) => Partition | undefined
  readonly replace: (partitions: readonly Partition[]) => void
  /** Assigned partitions whose checkpoints are not open yet, by partition. */
  readonly opening: Map<number, { readonly reported: ReportedPartition; readonly tracker: ProgressTracker }>
  /** Returns the owned partitions, and those whose checkpoints are not open yet. */
  readonly reported: () => readonly ReportedPartition[]
}

/** Creates an empty set of owned partitions, which assignments fill. */
export function createOwnedPartitions(): OwnedPartitions {
  let owned: ReadonlyMap<number, Partition> = new Map()
  const opening: OwnedPartitions['opening'] = new Map()

  return {
    all: () => [...owned.values()],
    find: (partition) => owned.get(partition),
    replace: (partitions) => {
      owned = new Map(partitions.map((own) => [own.partition, own]))
    },
    opening,
    reported: () => [
      ...owned.values(),
      ...[...opening.values()].flatMap(({ reported }) => (owned.has(reported.partition) ? [] : reported)),
    ],
  }
}

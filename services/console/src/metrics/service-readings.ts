import type { ServiceState } from './service-state.ts'
import type { PartitionReading, ProcessReading } from './read-process.ts'
import type { Target } from './sample.ts'

/** State of a service, from the metrics of its processes. */
export interface ServiceReading extends Omit<ServiceState, 'silence'> {
  readonly partitions: ReadonlyMap<number, PartitionReading>
  readonly catalogProblems: number
  readonly openBreakers: readonly string[]
}

/** Merges the processes of each service, in the order of the targets. */
export function serviceReadings(
  targets: readonly Target[],
  readings: ReadonlyMap<string, ProcessReading>,
): readonly ServiceReading[] {
  return Array.from(
    Map.groupBy(targets, ({ service }) => service),
    ([service, own]) => {
      const answers = own.flatMap(({ url }) => readings.get(url) ?? [])
      const silentProcesses = own.filter(({ url }) => !readings.has(url)).map(({ url }) => new URL(url).host)
      return { service, silentProcesses, ...processesOf(service, own.length, answers) }
    },
  )
}

function processesOf(
  service: string,
  processes: number,
  answers: readonly ProcessReading[],
): Omit<ServiceReading, 'service' | 'silentProcesses'> {
  const isConsumer = service !== 'gateway'
  const partitions = new Map(answers.flatMap((answer) => [...answer.partitions]))
  const owned = [...partitions.values()]
  const isKnown = isConsumer && answers.length > 0
  return {
    isConsumer,
    processes,
    answering: answers.length,
    lagSeconds: isKnown ? Math.max(0, ...owned.map(({ lagSeconds }) => lagSeconds)) : null,
    lagRecords: isKnown ? owned.reduce((sum, { lagRecords }) => sum + lagRecords, 0) : null,
    // Each process reports the count of the whole service.
    deadLetters: largest(answers.map(({ deadLetters }) => deadLetters)),
    outboxSeconds: largest(answers.map(({ outboxSeconds }) => outboxSeconds)),
    haltedPartitions: [...partitions].filter(([, { isHalted }]) => isHalted).map(([partition]) => partition),
    partitions,
    catalogProblems: Math.max(0, ...answers.map(({ catalogProblems }) => catalogProblems)),
    openBreakers: [...new Set(answers.flatMap(({ openBreakers }) => openBreakers))],
  }
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : Math.max(...known)
}

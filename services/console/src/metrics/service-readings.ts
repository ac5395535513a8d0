import { isConsumer } from '../services.ts'
import type { PartitionReading, ProcessReading } from './read-process.ts'
import { type Sample, type Target, totalOf } from './sample.ts'

/** State of a service, from the metrics of its processes. */
export interface ServiceReading {
  readonly service: string
  readonly isConsumer: boolean
  /** Number of configured processes, and of those that answered. */
  readonly processes: number
  readonly answering: number
  /** The other processes, as `host:port`. */
  readonly silentProcesses: readonly string[]
  /** Lag of a consumer; null: no process answers, or the metric is missing. */
  readonly lagSeconds: number | null
  readonly lagRecords: number | null
  readonly deadLetters: number | null
  readonly outboxSeconds: number | null
  readonly haltedPartitions: readonly number[]
  readonly partitions: ReadonlyMap<number, PartitionReading>
  readonly catalogProblems: number
  /** Projects whose signing secret some process cannot decrypt, by the id of the missing key, or `damaged`. */
  readonly undecryptableSecrets: ReadonlyMap<string, number>
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
  const partitions = new Map(answers.flatMap((answer) => [...answer.partitions]))
  const owned = [...partitions.values()]
  const isKnown = isConsumer(service) && answers.length > 0
  return {
    isConsumer: isConsumer(service),
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
    undecryptableSecrets: largestOfEach(answers.map(({ undecryptableSecrets }) => undecryptableSecrets)),
    openBreakers: [...new Set(answers.flatMap(({ openBreakers }) => openBreakers))],
  }
}

function largestOfEach(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const byKey = Map.groupBy(
    counts.flatMap((each) => [...each]),
    ([key]) => key,
  )
  return new Map(Array.from(byKey, ([key, same]) => [key, Math.max(...same.map(([, count]) => count))]))
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** State of a service at the last answer of one of its processes. */
export interface LastAnswer {
  readonly atMs: number
  readonly lagRecords: number
  /** Number of records that the gateways have published since, which wait, too. */
  readonly recordedSince: number
}

/** Updates the last answer of a service with one more sample; undefined: none yet. */
export function lastAnswerAfter(
  before: LastAnswer | undefined,
  { answering, lagRecords }: Pick<ServiceReading, 'answering' | 'lagRecords'>,
  sample: Sample,
): LastAnswer | undefined {
  if (answering > 0) return { atMs: sample.atMs, lagRecords: lagRecords ?? 0, recordedSince: 0 }
  return before && { ...before, recordedSince: before.recordedSince + totalOf([sample], 'record') }
}

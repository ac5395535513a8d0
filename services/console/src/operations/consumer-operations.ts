import type { DeadLetterGroup, OperationsAnswer, PartitionStatus } from '@nextvisit/contracts'
import { withVisibleCauses } from '../dead-letters/visible-causes.ts'
import { type ConsumerProcess, partitionsOf, topicOf } from '../services.ts'
import type { ConsumerOperations, PartitionLine } from './api.ts'

/** The processes of each consumer, by its name. `answer` is undefined for a process that does not answer. */
export type ConsumersOperations = ReadonlyMap<
  string,
  readonly { readonly url: string; readonly answer: OperationsAnswer | undefined }[]
>

/** Reads the operations of every process of every consumer, concurrently. */
export async function readOperations(
  processes: readonly ConsumerProcess[],
  signal?: AbortSignal,
): Promise<ConsumersOperations> {
  const answers = await Promise.all(
    processes.map(async ({ service, url, calls }) => {
      const result = await calls.readOperations({}, signal)
      return { service, url, answer: result.outcome === 'answered' ? result.answer : undefined }
    }),
  )
  return Map.groupBy(answers, ({ service }) => service)
}

interface ConsumerOperationsParts {
  readonly service: string
  readonly processes: NonNullable<ReturnType<ConsumersOperations['get']>>
  /** Of the whole service; undefined: not counted in time. */
  readonly deadLetters: readonly DeadLetterGroup[] | undefined
  /** Of the topics keyed by user. */
  readonly partitionCount: number
  /** Include messages of errors, which may quote personal data. */
  readonly withMessages: boolean
}

/** Merges the answers of a consumer's processes: every partition with its owner, including partitions without one. */
export function consumerOperationsOf(parts: ConsumerOperationsParts): ConsumerOperations {
  const { service, processes, deadLetters, partitionCount, withMessages } = parts
  const answers = processes.flatMap(({ url, answer }) => (answer ? [{ url, answer }] : []))
  const owned = new Map(
    answers.flatMap(({ url, answer }) =>
      answer.partitions.map((partition) => [partition.partition, lineOf(partition, url, withMessages)] as const),
    ),
  )
  return {
    service,
    topic: topicOf(service),
    processes: processes.length,
    silent: processes.flatMap(({ url, answer }) => (answer ? [] : [new URL(url).host])),
    partitions: Array.from(
      { length: partitionsOf(service, partitionCount) },
      (_, partition) => owned.get(partition) ?? withoutOwner(partition),
    ),
    deadLetters: deadLetters ? withVisibleCauses([...deadLetters], withMessages) : null,
  }
}

function lineOf(status: PartitionStatus, owner: string, withMessages: boolean): PartitionLine {
  const { partition, nextOffset, lagRecords, lagSeconds, alarms } = status
  return {
    partition,
    owner: new URL(owner).host,
    checkpoint: nextOffset,
    lagRecords,
    lagSeconds,
    alarms: alarms.map(({ message, ...alarm }) => ({ ...alarm, message: withMessages ? message : null })),
  }
}

function withoutOwner(partition: number): PartitionLine {
  return { partition, owner: null, checkpoint: null, lagRecords: null, lagSeconds: null, alarms: [] }
}

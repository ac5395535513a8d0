import type { DeadLetterGroup, OperationsAnswer, OwnedPartition } from '@nextvisit/contracts'
import { withVisibleCause } from '../session/visible-cause.ts'
import type { ConsumerOperations, PartitionLine } from './api.ts'

/** What one process answered; undefined: it did not. */
export interface ProcessOperations {
  readonly url: string
  readonly answer: OperationsAnswer | undefined
}

export interface ConsumerOperationsParts {
  readonly service: string
  readonly processes: readonly ProcessOperations[]
  /** Of the whole service; undefined: nobody counted them in time. */
  readonly deadLetters: readonly DeadLetterGroup[] | undefined
  readonly partitionCount: number
  /** Messages of errors may quote what a user said. */
  readonly withMessages: boolean
}

/** Brings the processes of a consumer together: every partition with its owner, also those that nobody owns. */
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
    processes: processes.length,
    silent: processes.flatMap(({ url, answer }) => (answer ? [] : [new URL(url).host])),
    partitions: Array.from(
      { length: partitionCount },
      (_, partition) => owned.get(partition) ?? withoutOwner(partition),
    ),
    deadLetters: deadLetters?.map((group) => withVisibleCause(group, withMessages)) ?? null,
  }
}

function lineOf(owned: OwnedPartition, owner: string, withMessages: boolean): PartitionLine {
  const { partition, nextOffset, lagRecords, lagSeconds, alarms } = owned
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

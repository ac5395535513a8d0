import type { ConsumerOperations, PartitionLine } from '../../../src/operations/api.ts'

type Halt = PartitionLine['alarms'][number]

/** A consumer that has not passed an offset yet. `checkpoint` is null if no answering process owns the partition. */
interface ConsumerBehind {
  readonly service: string
  readonly checkpoint: string | null
}

interface SetAsideScope {
  /** Consumers that the record or batch halts: this one first. */
  readonly services: readonly string[]
  /** Consumers that it may halt later. */
  readonly behind: readonly ConsumerBehind[]
}

/** Returns the alarm of a record or batch that halts the partition. */
export function haltOf({ alarms }: PartitionLine): Halt | undefined {
  return alarms.find(({ kind, recordId }) => kind === 'halted' && recordId !== null)
}

/** Returns the consumers that the record or batch at `offset` halts now, and those that have not passed it. */
export function setAsideScopeOf(
  consumers: readonly Pick<ConsumerOperations, 'service' | 'topic' | 'partitions'>[],
  { service, partition, offset }: { readonly service: string; readonly partition: number; readonly offset: string },
): SetAsideScope {
  const topic = consumers.find((one) => one.service === service)?.topic
  const others = consumers.flatMap((one) => {
    const line = one.partitions.find((own) => own.partition === partition)
    return one.service === service || one.topic !== topic || !line ? [] : [{ service: one.service, line }]
  })
  const isHalted = (line: PartitionLine): boolean => haltOf(line)?.offset === offset
  const mayMeet = ({ checkpoint }: PartitionLine): boolean =>
    checkpoint === null || BigInt(checkpoint) <= BigInt(offset)
  return {
    services: [service, ...others.flatMap((one) => (isHalted(one.line) ? one.service : []))],
    behind: others
      .filter(({ line }) => !isHalted(line) && mayMeet(line))
      .map((one) => ({ service: one.service, checkpoint: one.line.checkpoint })),
  }
}

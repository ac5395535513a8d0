import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { LogConnection } from '../src/connect/log-connection.ts'
import { createGroupReader, type GroupReader } from '../src/read/group-reader.ts'
import type { FetchedBatch } from '../src/read/fetched-batch.ts'
import type { GroupReaderHandlers, GroupReaderOptions } from '../src/read/group-reader-options.ts'
import type { Watermarks } from '../src/watermarks.ts'
import { givenConnection } from './given-topic.ts'

interface Member {
  readonly reader: GroupReader
  readonly batches: FetchedBatch[]
  readonly assigned: (readonly number[])[]
  readonly crashes: Error[]
}

interface MemberSettings extends Partial<GroupReaderOptions>, Partial<GroupReaderHandlers> {
  readonly topic: string
  readonly connection?: LogConnection
}

/** Starts a member of a group. It begins at the low watermark and continues after its last batch. */
export async function givenMember(settings: MemberSettings): Promise<Member> {
  const member = givenUnstartedMember(settings)
  await member.reader.start()
  return member
}

/** Creates such a member. */
export function givenUnstartedMember({ topic, connection = givenConnection(), ...settings }: MemberSettings): Member {
  const batches: FetchedBatch[] = []
  const assigned: (readonly number[])[] = []
  const crashes: Error[] = []
  const options = {
    groupId: `log-spec.${randomUUID()}`,
    topics: [topic],
    sessionTimeoutMs: 6_000,
    heartbeatIntervalMs: 200,
    rebalanceTimeoutMs: 6_000,
    ...settings,
  }
  const reader = createGroupReader(connection, options, {
    positions: settings.positions ?? (async (_, watermarks) => positionsAfter(batches, watermarks)),
    onBatch: async (batch) => {
      await settings.onBatch?.(batch)
      batches.push(batch)
    },
    onAssigned: (partitions) => void assigned.push(partitions.get(topic) ?? []),
    ...(settings.onUnreadable && { onUnreadable: settings.onUnreadable }),
    onCrash: (error) => void crashes.push(error),
  })
  onTestFinished(reader.stop)
  return { reader, batches, assigned, crashes }
}

export function numbers(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index))
}

export function valuesOf(batches: readonly FetchedBatch[], partition: number): readonly string[] {
  return batches
    .filter((batch) => batch.partition === partition)
    .flatMap(({ records }) => records.map(({ value }) => String(value)))
}

function positionsAfter(
  batches: readonly FetchedBatch[],
  watermarks: ReadonlyMap<number, Watermarks>,
): ReadonlyMap<number, bigint> {
  const lows = [...watermarks].map(([partition, { low }]) => [partition, low] as const)
  return new Map([...lows, ...batches.map(({ partition, nextOffset }) => [partition, nextOffset] as const)])
}

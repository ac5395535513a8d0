import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { Kafka } from 'kafkajs'
import { afterEach, describe, expect, it, vi } from 'vitest'

import { fetchApiKey } from '@nextvisit/testing'
import { createRecordConsumer } from './create-record-consumer.ts'
import { givenConnection, givenFaultProxy, givenRecords, givenTopic } from './given-topic.ts'
import type { LogConnection } from './log-connection.ts'
import type {
  FetchedBatch,
  RecordConsumer,
  RecordConsumerHandlers,
  RecordConsumerOptions,
  Watermarks,
} from './record-consumer.ts'
import { withLogAdmin } from './with-log-admin.ts'

const started: RecordConsumer[] = []

afterEach(async () => {
  await Promise.all(started.splice(0).map((consumer) => consumer.stop()))
})

interface Member {
  readonly consumer: RecordConsumer
  readonly batches: FetchedBatch[]
  readonly assigned: (readonly number[])[]
  readonly crashes: Error[]
}

interface MemberSettings extends Partial<RecordConsumerOptions>, Partial<RecordConsumerHandlers> {
  readonly topic: string
  readonly connection?: LogConnection
}

/** A started member of a group; it begins at the low watermark, and goes on where it ended. */
async function givenMember({ topic, connection = givenConnection(), ...settings }: MemberSettings): Promise<Member> {
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
  const consumer = createRecordConsumer(connection, options, {
    positions: settings.positions ?? (async (_, watermarks) => positionsAfter(batches, watermarks)),
    onBatch: async (batch) => {
      await settings.onBatch?.(batch)
      batches.push(batch)
    },
    onAssigned: (partitions) => void assigned.push(partitions.get(topic) ?? []),
    onCrash: (error) => void crashes.push(error),
  })
  started.push(consumer)
  await consumer.start()
  return { consumer, batches, assigned, crashes }
}

function positionsAfter(
  batches: readonly FetchedBatch[],
  watermarks: ReadonlyMap<number, Watermarks>,
): ReadonlyMap<number, bigint> {
  const lows = [...watermarks].map(([partition, { low }]) => [partition, low] as const)
  return new Map([...lows, ...batches.map(({ partition, nextOffset }) => [partition, nextOffset] as const)])
}

async function deleteRecords(topic: string, before: number): Promise<void> {
  const admin = new Kafka({ brokers: [...givenConnection().brokers] }).admin()
  await admin.connect()
  await admin.fetchTopicMetadata({ topics: [topic] }) // or kafkajs knows no leader
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(before) }] })
  await admin.disconnect()
}

function numbers(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index))
}

function valuesOf(batches: readonly FetchedBatch[], partition: number): readonly string[] {
  return batches
    .filter((batch) => batch.partition === partition)
    .flatMap(({ records }) => records.map(({ value }) => String(value)))
}

function until(condition: () => boolean, timeout = 30_000): Promise<void> {
  return vi.waitFor(() => expect(condition()).toBe(true), { timeout, interval: 20 })
}

describe('a record consumer', () => {
  it('begins at the positions it is given, and tells where each fetch began and the log ends', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 10))
    await givenRecords(topic, 1, numbers(0, 10))
    const asked: ReadonlyMap<number, Watermarks>[] = []
    const positions = async (_: string, watermarks: ReadonlyMap<number, Watermarks>) => {
      asked.push(watermarks)
      return new Map([
        [0, 7n],
        [1, 10n],
      ])
    }
    const { consumer, batches } = await givenMember({ topic, positions })
    await until(() => batches.length > 0)
    await givenRecords(topic, 1, ['new'])
    await until(() => valuesOf(batches, 1).length > 0)

    expect(asked).toEqual([new Map([0, 1].map((partition) => [partition, { low: 0n, high: 10n }]))])
    expect(consumer.assigned()).toEqual(new Map([[topic, [0, 1]]]))
    expect(batches).toMatchObject([
      {
        partition: 0,
        fetchedFrom: 7n,
        nextOffset: 10n,
        highWatermark: 10n,
        records: [{ offset: 7n }, { offset: 8n }, { offset: 9n }],
      },
      { partition: 1, fetchedFrom: 10n, nextOffset: 11n, highWatermark: 11n, records: [{ offset: 10n }] },
    ])
  })

  it('asks again when positions are refused once: their last owner may have moved them meanwhile', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    let asked = 0
    const positions = async (): Promise<ReadonlyMap<number, bigint>> => {
      asked += 1
      return new Map([[0, asked === 1 ? 6n : 5n]])
    }
    const { batches, crashes } = await givenMember({ topic, positions })
    await until(() => asked === 2)
    await givenRecords(topic, 0, ['new'])
    await until(() => batches.length > 0)
    expect({ values: valuesOf(batches, 0), crashes }).toEqual({ values: ['new'], crashes: [] })
  })

  it('hands a large fetch on in parts, each beginning where the last one ended', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 250))
    const { batches } = await givenMember({ topic, maxBatchRecords: 100 })
    await until(() => valuesOf(batches, 0).length === 250)
    expect(batches.map(({ fetchedFrom, nextOffset, records }) => [fetchedFrom, nextOffset, records.length])).toEqual([
      [0n, 100n, 100],
      [100n, 200n, 100],
      [200n, 250n, 50],
    ])
  })

  it('commits to Kafka what was handled, for lag dashboards', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 30))
    const groupId = `log-spec.${randomUUID()}`
    const { batches, consumer } = await givenMember({ topic, groupId })
    await until(() => valuesOf(batches, 0).length === 30)
    await consumer.stop()
    await withLogAdmin(givenConnection(), async (admin) => {
      expect(await admin.groupOffsets(groupId, topic)).toEqual(new Map([[0, 30n]]))
      expect(await admin.listGroups('log-spec.')).toContain(groupId)
      expect(await admin.describeGroup(groupId)).toEqual({ state: 'Empty', members: [] })
    })
  })

  it('waits for a topic that does not exist yet, but not for ever', async () => {
    const topic = `log-spec.${randomUUID()}`
    await expect(givenMember({ topic, startWithinMs: 500 })).rejects.toMatchObject({ code: 'TOPIC_MISSING' })
  })
})

describe('a record consumer that cannot go on', () => {
  it.each([
    ['before the first record that is kept', 5, -1n],
    ['behind the end', 5, 6n],
    ['behind the end of an empty log', 0, 1n],
  ])('refuses a position %s instead of resetting it in silence', async (_, records, position) => {
    const topic = await givenTopic(1)
    if (records > 0) await givenRecords(topic, 0, numbers(0, records))
    const { batches, crashes } = await givenMember({ topic, positions: async () => new Map([[0, position]]) })
    await until(() => crashes.length > 0)
    expect(crashes).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
    expect(batches).toEqual([])
  })

  it('stops when the handler refuses the watermarks', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    const refusal = new Error('The checkpoint is not in the log')
    const { batches, crashes } = await givenMember({ topic, positions: () => Promise.reject(refusal) })
    await until(() => crashes.length > 0)
    await sleep(300)
    expect(crashes).toEqual([refusal])
    expect(batches).toEqual([])
  })

  it.each([
    ['a TypeError, which kafkajs takes for the end', new TypeError('a bug')],
    ['an Error, which kafkajs would retry for ever', new Error('also a bug')],
  ])('stops for good when the handler throws %s', async (_, bug) => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 5))
    let calls = 0
    const onBatch = (): Promise<void> => {
      calls += 1
      return Promise.reject(bug)
    }
    const { crashes } = await givenMember({ topic, onBatch })
    await until(() => crashes.length > 0)
    await givenRecords(topic, 1, numbers(0, 5))
    await sleep(1_500)
    expect(crashes).toEqual([bug])
    expect(calls).toBe(1)
  })

  it('stops when the log loses its position while it reads, which kafkajs would hide', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    const { batches, crashes } = await givenMember({ topic })
    await until(() => valuesOf(batches, 0).length === 5)
    await withLogAdmin(givenConnection(), async (admin) => {
      await admin.deleteTopic(topic)
      await vi.waitFor(() => admin.createTopic(topic, { partitions: 1 }), { timeout: 10_000 })
    })
    await givenRecords(topic, 0, ['another log'])
    await until(() => crashes.length > 0)
    expect(crashes).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 5))
  })

  it('stops when records were deleted before it came to them, which kafkajs would skip', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    const deleted = Promise.withResolvers<void>()
    const { batches, crashes } = await givenMember({ topic, onBatch: () => deleted.promise })
    await sleep(300)
    await givenRecords(topic, 0, numbers(5, 50))
    await deleteRecords(topic, 20)
    deleted.resolve()
    await until(() => crashes.length > 0)
    expect(crashes).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 5))
  })
})

describe('record consumers of one group', () => {
  it('lose nothing when members come and go, and hand on nothing from a wrong position', async () => {
    const topic = await givenTopic(4)
    const groupId = `log-spec.${randomUUID()}`
    /** The checkpoints, as Postgres would keep them: moved only by whoever begins where they are. */
    const checkpoints = new Map([0, 1, 2, 3].map((partition) => [partition, 0n]))
    const folded = new Map<number, string[]>([0, 1, 2, 3].map((partition) => [partition, []]))
    const gaps: FetchedBatch[] = []
    const onBatch = async (batch: FetchedBatch): Promise<void> => {
      await sleep(5)
      const checkpoint = checkpoints.get(batch.partition)!
      if (batch.fetchedFrom > checkpoint) gaps.push(batch)
      const fresh = batch.records.filter(({ offset }) => offset >= checkpoint)
      folded.get(batch.partition)?.push(...fresh.map(({ value }) => String(value)))
      if (batch.nextOffset > checkpoint) checkpoints.set(batch.partition, batch.nextOffset)
    }
    const positions = async (_: string, watermarks: ReadonlyMap<number, Watermarks>) =>
      new Map([...watermarks.keys()].map((partition) => [partition, checkpoints.get(partition)!]))
    const settings = { topic, groupId, positions, onBatch, maxBatchRecords: 7, maxBytesPerPartition: 2_000 }

    const first = await givenMember(settings)
    const publishing = Promise.all(
      [0, 1, 2, 3].map(async (partition) => {
        for (let from = 0; from < 1_000; from += 50) await givenRecords(topic, partition, numbers(from, from + 50))
      }),
    )
    const second = await givenMember(settings)
    await until(() => first.consumer.assigned().get(topic)?.length === 2)
    const shared = [first, second].flatMap(({ consumer }) => consumer.assigned().get(topic) ?? [])
    expect(new Set(shared)).toEqual(new Set([0, 1, 2, 3]))
    const third = await givenMember(settings)
    await until(() => third.batches.length > 3)
    await third.consumer.stop()
    await second.consumer.stop()
    await publishing
    await until(() => [...checkpoints.values()].every((checkpoint) => checkpoint === 1_000n))

    expect(first.assigned.at(-1)).toEqual([0, 1, 2, 3])
    expect(gaps).toEqual([])
    expect([...folded.values()]).toEqual([0, 1, 2, 3].map(() => numbers(0, 1_000)))
    expect([first, second, third].flatMap(({ crashes }) => crashes)).toEqual([])
    // Each member's reading of a partition goes on where it ended, or where it was told to begin anew.
    expect(second.batches.length).toBeGreaterThan(0)
  })

  it('own nothing when there are more members than partitions, and are told so', async () => {
    const topic = await givenTopic(1)
    const groupId = `log-spec.${randomUUID()}`
    const first = await givenMember({ topic, groupId })
    const second = await givenMember({ topic, groupId })
    await until(() => first.assigned.length + second.assigned.length >= 3)
    expect([first, second].flatMap(({ assigned }) => assigned.at(-1))).toEqual([0])
    expect([first.assigned.at(-1), second.assigned.at(-1)]).toContainEqual([])
  })

  it('come back after their connections were cut and refused for a while', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 20))
    const { proxy, connection } = await givenFaultProxy()
    let cuts = 0
    proxy.onResponse(({ apiKey, bytes }) =>
      apiKey === fetchApiKey && bytes > 200 && cuts++ < 3 ? { cutAfterBytes: 100 } : 'pass',
    )
    const { batches, crashes } = await givenMember({ topic, connection })
    await until(() => valuesOf(batches, 0).length === 20)
    proxy.setLink('refuse')
    await givenRecords(topic, 0, numbers(20, 40))
    await sleep(3_000)
    proxy.setLink('open')
    await until(() => valuesOf(batches, 0).length === 40)
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 40))
    expect({ crashes, cut: proxy.struck().cut }).toEqual({ crashes: [], cut: 3 })
  })
})

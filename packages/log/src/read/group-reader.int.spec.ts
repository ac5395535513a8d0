import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { deleteRecords, until } from '@nextvisit/testing'
import { Kafka } from 'kafkajs'
import { describe, expect, it, vi } from 'vitest'
import { givenMember, numbers, valuesOf } from '../../test/given-member.ts'
import { givenConnection, givenRecords, givenTopic } from '../../test/given-topic.ts'
import { withLogAdmin } from '../admin/with-log-admin.ts'
import type { Watermarks } from '../watermarks.ts'

/** Publishes one transaction. Its end marker occupies an offset. */
async function givenTransaction(topic: string, values: readonly string[], end: 'commit' | 'abort'): Promise<void> {
  const kafka = new Kafka({ brokers: [...givenConnection().brokers], retry: { initialRetryTime: 20, retries: 20 } })
  const producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true })
  await producer.connect()
  const transaction = await producer.transaction()
  await transaction.send({ topic, messages: values.map((value) => ({ value, partition: 0 })) })
  await transaction[end]()
  await producer.disconnect()
}

describe('a group reader', () => {
  it('begins at the given positions and reports the start of each fetch and the log end', async () => {
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
    const { assigned, batches } = await givenMember({ topic, positions })
    await until(() => batches.length > 0)
    await givenRecords(topic, 1, ['new'])
    await until(() => valuesOf(batches, 1).length > 0)

    expect(asked).toEqual([new Map([0, 1].map((partition) => [partition, { low: 0n, high: 10n }]))])
    expect(assigned).toEqual([[0, 1]])
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

  it('asks for positions again after a refusal, because their last owner may have moved them', async () => {
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

  it('splits a large fetch into batches that follow each other', async () => {
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

  it('skips transaction markers and aborted records without gaps between batches', async () => {
    const topic = await givenTopic(1)
    await givenTransaction(topic, ['a', 'b'], 'commit')
    await givenTransaction(topic, ['never'], 'abort')
    await givenTransaction(topic, ['c'], 'commit')
    const { batches, crashes } = await givenMember({ topic })
    await until(() => valuesOf(batches, 0).length === 3)
    await givenTransaction(topic, ['never'], 'abort')
    await givenRecords(topic, 0, ['d'])
    await until(() => valuesOf(batches, 0).length === 4)
    expect(valuesOf(batches, 0)).toEqual(['a', 'b', 'c', 'd'])
    const ends = [0n, ...batches.map(({ nextOffset }) => nextOffset)]
    expect(batches.map(({ fetchedFrom }) => fetchedFrom)).toEqual(ends.slice(0, -1))
    expect({ end: ends.at(-1), crashes }).toEqual({ end: 10n, crashes: [] })
  })

  it('commits handled offsets to Kafka for lag dashboards', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 30))
    const groupId = `log-spec.${randomUUID()}`
    const { batches, reader } = await givenMember({ topic, groupId })
    await until(() => valuesOf(batches, 0).length === 30)
    await reader.stop()
    await withLogAdmin(givenConnection(), async (admin) => {
      expect(await admin.groupOffsets(groupId, topic)).toEqual(new Map([[0, 30n]]))
      expect(await admin.listGroups('log-spec.')).toContain(groupId)
      expect(await admin.describeGroup(groupId)).toEqual({ state: 'Empty', members: [] })
    })
  })

  it('leaves the group without waiting for a fetch that the broker holds', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['first'])
    const groupId = `log-spec.${randomUUID()}`
    const { batches, reader } = await givenMember({ topic, groupId, maxWaitMs: 600_000 })
    await until(() => batches.length > 0)
    await sleep(100) // the next fetch is on its way
    await reader.stop()
    await withLogAdmin(givenConnection(), async (admin) => {
      expect(await admin.describeGroup(groupId)).toEqual({ state: 'Empty', members: [] })
    })
  })

  it('waits for a missing topic for a limited time', async () => {
    const topic = `log-spec.${randomUUID()}`
    await expect(givenMember({ topic, startWithinMs: 500 })).rejects.toMatchObject({ code: 'TOPIC_MISSING' })
  })
})

describe('a failing group reader', () => {
  it.each([
    ['before the first retained record', 5, -1n],
    ['past the end', 5, 6n],
    ['past the end of an empty log', 0, 1n],
  ])('refuses a position %s instead of resetting it silently', async (_, records, position) => {
    const topic = await givenTopic(1)
    if (records > 0) await givenRecords(topic, 0, numbers(0, records))
    const { batches, crashes } = await givenMember({ topic, positions: async () => new Map([[0, position]]) })
    await until(() => crashes.length > 0)
    expect(crashes).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
    expect(batches).toEqual([])
  })

  it('stops when the handler rejects the watermarks', async () => {
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
    ['a TypeError', new TypeError('a bug')],
    ['an Error', new Error('also a bug')],
  ])('stops permanently when the handler throws %s', async (_, bug) => {
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

  it('stops when its topic is recreated while it reads', async () => {
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

  it('stops when unread records are deleted', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    const deleted = Promise.withResolvers<void>()
    let handed = 0
    const onBatch = (): Promise<void> => {
      handed += 1
      return deleted.promise
    }
    const { batches, crashes } = await givenMember({ topic, onBatch })
    await until(() => handed > 0)
    await givenRecords(topic, 0, numbers(5, 50))
    await deleteRecords(givenConnection(), topic, { partition: 0, before: 20 })
    deleted.resolve()
    await until(() => crashes.length > 0)
    expect(crashes).toMatchObject([{ code: 'POSITION_OUTSIDE_LOG' }])
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 5))
  })
})

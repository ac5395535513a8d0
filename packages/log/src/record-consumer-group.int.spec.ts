import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchApiKey } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenMember, numbers, until, valuesOf } from '../test/given-member.ts'
import { givenFaultProxy, givenRecords, givenTopic } from '../test/given-topic.ts'
import type { FetchedBatch, Watermarks } from './record-consumer.ts'

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

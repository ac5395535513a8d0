import { randomUUID } from 'node:crypto'

import { describe, expect, it, vi } from 'vitest'

import { fetchApiKey, listOffsetsApiKey } from '@nextvisit/testing'
import { givenConnection, givenFaultProxy, givenPublisher, givenRecords, givenTopic } from '../../test/given-topic.ts'
import { withRefusal } from '../../test/given-two-brokers.ts'
import { readLog } from './read-log.ts'
import type { FetchedBatch } from './fetched-batch.ts'

const OUT_OF_RANGE = 1

function valuesOf(batches: readonly FetchedBatch[]): readonly string[] {
  return batches.flatMap(({ records }) => records.map(({ value }) => String(value)))
}

describe('reading the log', () => {
  it("reads from the given positions to the log's end, in parts that follow each other", async () => {
    const topic = await givenTopic(3)
    await givenRecords(topic, 0, ['a', 'b', 'c', 'd', 'e'])
    await givenRecords(topic, 1, ['x', 'y'])
    const batches: FetchedBatch[] = []
    const from = new Map([
      [0, 1n],
      [1, 0n],
      [2, 0n],
    ])
    await readLog(givenConnection(), {
      topic,
      from,
      onBatch: (batch) => void batches.push(batch),
      until: 'end',
      maxBatchRecords: 3,
    })
    expect(batches.filter(({ partition }) => partition === 0)).toMatchObject([
      { fetchedFrom: 1n, nextOffset: 4n, highWatermark: 5n },
      { fetchedFrom: 4n, nextOffset: 5n, highWatermark: 5n },
    ])
    expect(valuesOf(batches).toSorted()).toEqual(['b', 'c', 'd', 'e', 'x', 'y'])
  })

  it('reports when it is level with the log, at the start and after each fetch', async () => {
    const topic = await givenTopic(1)
    const stopping = new AbortController()
    const seen: (string | number)[] = []
    const began = performance.now()
    const reading = readLog(givenConnection(), {
      topic,
      from: new Map([[0, 0n]]),
      onBatch: (batch) => void seen.push(...valuesOf([batch])),
      onLevel: (asOfMs) => void seen.push(asOfMs),
      maxWaitMs: 2_000,
      signal: stopping.signal,
    })
    await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: 1_500 })
    await givenRecords(topic, 0, ['a', 'b'])
    await vi.waitFor(() => expect(seen.at(-1)).toBeTypeOf('number'))
    await vi.waitFor(() => expect(seen.filter((one) => typeof one === 'string')).toEqual(['a', 'b']), {
      timeout: 1_500,
    })
    await vi.waitFor(() => expect(seen.at(-1)).toBeTypeOf('number'))
    stopping.abort()
    await reading
    const instants = seen.filter((one) => typeof one === 'number')
    expect(instants).toEqual(instants.toSorted((one, other) => one - other))
    expect(instants[0]).toBeGreaterThanOrEqual(began)
    expect(instants.at(-1)).toBeLessThanOrEqual(performance.now())
  })

  it('ignores records that are published after the start', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['a', 'b', 'c'])
    const batches: FetchedBatch[] = []
    const onBatch = async (batch: FetchedBatch): Promise<void> => {
      batches.push(batch)
      await givenRecords(topic, 0, ['late'])
    }
    await readLog(givenConnection(), { topic, from: new Map([[0, 0n]]), onBatch, until: 'end', maxBatchRecords: 1 })
    expect(valuesOf(batches)).toEqual(['a', 'b', 'c'])
  })

  it('reads one partition to its end before the next one', async () => {
    const topic = await givenTopic(3)
    const long = 'x'.repeat(1_000)
    for (const partition of [0, 1, 2]) await givenRecords(topic, partition, [`${partition}`, long, long, long])
    const batches: FetchedBatch[] = []
    const from = new Map([2, 0, 1].map((partition) => [partition, 0n]))
    // A fetch is at least one of the log's batches, and at most these bytes.
    await readLog(givenConnection(), {
      topic,
      from,
      onBatch: (batch) => void batches.push(batch),
      until: 'end',
      isOneByOne: true,
      maxBytesPerPartition: 1_500,
      maxBatchRecords: 3,
    })
    const read = batches.flatMap(({ records }) => records)
    expect(read.map(({ partition, offset }) => `${partition}/${offset}`)).toEqual(
      [2, 0, 1].flatMap((partition) => [0, 1, 2, 3].map((offset) => `${partition}/${offset}`)),
    )
  })

  it('serves every partition before it reads one to its end', async () => {
    const topic = await givenTopic(12)
    const partitions = Array.from({ length: 12 }, (_, partition) => partition)
    const publisher = await givenPublisher(givenConnection())
    // Each is a batch of its own in the log. A fetch returns one of them for at most ten partitions.
    for (const letter of ['a', 'b', 'c', 'd']) {
      const value = letter.repeat(1_000)
      const publish = (partition: number) =>
        publisher.publish({ topic, partition, key: letter, value, headers: {} }, performance.now() + 30_000)
      await Promise.all(partitions.map(publish))
    }
    const read: number[] = []
    const from = new Map(partitions.map((partition) => [partition, 0n]))
    await readLog(givenConnection(), {
      topic,
      from,
      onBatch: ({ partition }) => void read.push(partition),
      until: 'end',
      maxBytesPerPartition: 1_500,
    })
    expect(read).toHaveLength(48)
    expect(new Set(read.slice(0, 24))).toEqual(new Set(partitions))
  })

  it('prefetches once while a batch is handled', async () => {
    const topic = await givenTopic(1)
    // Each is a batch of its own in the log, and too long for a fetch with another.
    for (const letter of ['a', 'b', 'c']) await givenRecords(topic, 0, [letter.repeat(1_000)])
    const { proxy, connection } = await givenFaultProxy()
    let fetches = 0
    proxy.onResponse(({ apiKey }) => {
      if (apiKey === fetchApiKey) fetches += 1
      return 'pass'
    })
    const fetchesByBatch: number[] = []
    const onBatch = async (batch: FetchedBatch): Promise<void> => {
      const isLast = batch.nextOffset === 3n
      await vi.waitFor(() => expect(fetches).toBe(Number(batch.nextOffset) + (isLast ? 0 : 1)), { timeout: 10_000 })
      fetchesByBatch.push(fetches)
    }
    await readLog(connection, { topic, from: new Map([[0, 0n]]), onBatch, until: 'end', maxBytesPerPartition: 1_500 })
    expect(fetchesByBatch).toEqual([2, 3, 3])
  })

  it('repeats a failed prefetch without counting it as a failure', async () => {
    const topic = await givenTopic(1)
    for (const letter of ['a', 'b']) await givenRecords(topic, 0, [letter.repeat(1_000)])
    const { proxy, connection } = await givenFaultProxy()
    let fetches = 0
    proxy.onResponse(({ apiKey }) => (apiKey === fetchApiKey && (fetches += 1) === 2 ? { cutAfterBytes: 100 } : 'pass'))
    const batches: FetchedBatch[] = []
    await readLog(connection, {
      topic,
      from: new Map([[0, 0n]]),
      onBatch: (batch) => void batches.push(batch),
      until: 'end',
      maxBytesPerPartition: 1_500,
      giveUpAfterMs: 0,
    })
    expect(valuesOf(batches).map(([letter]) => letter)).toEqual(['a', 'b'])
    expect(proxy.struck().cut).toBe(1)
  })

  it('follows until it is aborted and survives cut connections', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    let cuts = 0
    proxy.onResponse(({ apiKey }) =>
      apiKey === fetchApiKey && (cuts += 1) % 5 === 0 ? { cutAfterBytes: 100 } : 'pass',
    )
    const batches: FetchedBatch[] = []
    const stopping = new AbortController()
    const following = readLog(connection, {
      topic,
      from: new Map([[0, 0n]]),
      onBatch: (batch) => void batches.push(batch),
      signal: stopping.signal,
    })
    for (const value of ['1', '2', '3', '4', '5', '6']) {
      await givenRecords(topic, 0, [value])
      await vi.waitFor(() => expect(valuesOf(batches)).toContain(value), { timeout: 10_000, interval: 10 })
    }
    proxy.setLink('refuse')
    await givenRecords(topic, 0, ['7'])
    proxy.setLink('open')
    await vi.waitFor(() => expect(valuesOf(batches)).toContain('7'), { timeout: 10_000 })
    stopping.abort()
    await following
    expect(valuesOf(batches)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
    expect(proxy.struck().cut).toBeGreaterThan(0)
  })

  it('refuses a position that is not in the log', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['a'])
    const reading = readLog(givenConnection(), { topic, from: new Map([[0, 2n]]), onBatch: () => {} })
    await expect(reading).rejects.toMatchObject({ code: 'POSITION_OUTSIDE_LOG' })
  })

  it('passes a former leader that lacks the end of the log, and gives up if every broker lacks it', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['a'])
    const { proxy, connection } = await givenFaultProxy()
    let refusals = 3
    proxy.onResponse(({ apiKey, frame }) => {
      if (apiKey !== fetchApiKey || refusals === 0) return 'pass'
      refusals -= 1
      return withRefusal(frame, 0, OUT_OF_RANGE) ?? 'pass'
    })
    const batches: FetchedBatch[] = []
    const onBatch = (batch: FetchedBatch): void => void batches.push(batch)
    const reading = { topic, from: new Map([[0, 0n]]), onBatch, until: 'end' } as const
    await readLog(connection, reading)
    expect(valuesOf(batches)).toEqual(['a'])
    refusals = Infinity
    await expect(readLog(connection, reading)).rejects.toMatchObject({ code: 'POSITION_OUTSIDE_LOG' })
  })

  it('passes a former leader that lacks the end of the log when it reads the watermarks', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['a', 'b'])
    const { proxy, connection } = await givenFaultProxy()
    let staleEnds = 3
    proxy.onResponse(({ apiKey, frame }) => {
      const isEnd = apiKey === listOffsetsApiKey && frame.readBigInt64BE(frame.length - 8) > 0n
      if (!isEnd || staleEnds === 0) return 'pass'
      staleEnds -= 1
      return { replaceBy: Buffer.concat([frame.subarray(0, -8), Buffer.alloc(8)]) }
    })
    const batches: FetchedBatch[] = []
    const onBatch = (batch: FetchedBatch): void => void batches.push(batch)
    const reading = { topic, from: new Map([[0, 1n]]), onBatch, until: 'end' } as const
    await readLog(connection, reading)
    expect(valuesOf(batches)).toEqual(['b'])
    expect(staleEnds).toBe(0)
    staleEnds = Infinity
    await expect(readLog(connection, reading)).rejects.toMatchObject({ code: 'POSITION_OUTSIDE_LOG' })
  })

  it('rejects with the error of its handler', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, ['a'])
    const bug = new TypeError('a bug')
    const reading = readLog(givenConnection(), { topic, from: new Map([[0, 0n]]), onBatch: () => Promise.reject(bug) })
    await expect(reading).rejects.toBe(bug)
  })

  it('gives up on a topic that stays missing', async () => {
    const reading = readLog(givenConnection(), {
      topic: `log-spec.${randomUUID()}`,
      from: new Map([[0, 0n]]),
      onBatch: () => {},
      until: 'end',
      giveUpAfterMs: 100,
    })
    await expect(reading).rejects.toMatchObject({ code: 'TOPIC_MISSING' })
  })
})

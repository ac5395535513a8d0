import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { produceApiKey, type BrokerResponse, type ResponseFault } from '@nextvisit/testing'
import { describe, expect, it, vi } from 'vitest'

import { createPublisher, type Publisher, type PublisherOptions } from './publisher.ts'
import { givenConnection, givenFaultProxy, givenPublisher, givenTopic, readAll } from '../../test/given-topic.ts'
import type { PublishOutcome, RecordToPublish } from './publish-outcome.ts'

function recordOf(topic: string, partition: number, value: string): RecordToPublish {
  return { topic, partition, key: value, value, headers: { ce_id: value } }
}

function inMs(ms: number): number {
  return performance.now() + ms
}

/** Publishes with 64 callers, each with one record in flight, until `isEnough`. Returns the outcomes by the records' values. */
async function publishWith64Callers(
  publisher: Publisher,
  topic: string,
  isEnough: () => boolean,
): Promise<ReadonlyMap<string, PublishOutcome & { partition: number }>> {
  const outcomes = new Map<string, PublishOutcome & { partition: number }>()
  const call = async (caller: number): Promise<void> => {
    for (let round = 0; !isEnough(); round += 1) {
      const partition = randomInt(3)
      const value = `${caller}-${round}`
      const outcome = await publisher.publish(recordOf(topic, partition, value), inMs(10_000))
      outcomes.set(value, { ...outcome, partition })
      // After a test that took too long. A stopped publisher answers at once, so the loop would never end.
      if (outcome.outcome === 'not-published' && outcome.reason === 'stopped') return
    }
  }
  await Promise.all(Array.from({ length: 64 }, (_, caller) => call(caller)))
  return outcomes
}

/** Expects published records once and at their offset, unknown ones at most once, and others not at all. */
async function expectLogToAgree(
  topic: string,
  outcomes: ReadonlyMap<string, PublishOutcome & { partition: number }>,
): Promise<void> {
  const found = Map.groupBy(await readAll(topic, 3), ({ value }) => String(value))
  const missing: string[] = []
  const wrong: string[] = []
  for (const [value, answer] of outcomes) {
    const records = found.get(value) ?? []
    if (answer.outcome === 'published') {
      if (records.length === 0) missing.push(value)
      else if (
        records.length > 1 ||
        records[0]!.offset !== answer.offset ||
        records[0]!.partition !== answer.partition
      ) {
        wrong.push(value)
      }
    }
    if (answer.outcome === 'unknown' && records.length > 1) wrong.push(value)
    if (answer.outcome === 'not-published' && records.length > 0) wrong.push(value)
  }
  expect({ missing, wrong }).toEqual({ missing: [], wrong: [] })
  expect([...found.keys()].filter((value) => !outcomes.has(value))).toEqual([])
}

function count(outcomes: Iterable<PublishOutcome>, outcome: PublishOutcome['outcome']): number {
  return [...outcomes].filter((one) => one.outcome === outcome).length
}

/** Injects a fault into the nth responses to produce requests: 1 is the first. */
function strike(fault: ResponseFault, which: readonly number[]): (response: BrokerResponse) => ResponseFault {
  let seen = 0
  return ({ apiKey }) => {
    if (apiKey !== produceApiKey) return 'pass'
    seen += 1
    return which.includes(seen) ? fault : 'pass'
  }
}

describe('a publisher whose broker answers', () => {
  it('sends records that arrive within the spacing in one request', async () => {
    const topic = await givenTopic(1)
    const onRequest = vi.fn<NonNullable<PublisherOptions['onRequest']>>()
    const publisher = await givenPublisher(givenConnection(), { onRequest, requestSpacingMs: 2_000 })
    const publish = (value: string) => publisher.publish(recordOf(topic, 0, value), inMs(10_000))
    await publish('first')
    const waiting = publish('second')
    await sleep(100)
    await Promise.all([waiting, publish('third')])
    expect(onRequest.mock.calls.map(([{ sent }]) => sent.length)).toEqual([1, 2])
  })

  it('sends waiting records at once as soon as there are enough of them', async () => {
    const topic = await givenTopic(1)
    const onRequest = vi.fn<NonNullable<PublisherOptions['onRequest']>>()
    const publisher = await givenPublisher(givenConnection(), { onRequest, requestSpacingMs: 600_000 })
    const publish = (value: number) => publisher.publish(recordOf(topic, 0, String(value)), inMs(10_000))
    await publish(0)
    const enough = 16
    const waiting = Array.from({ length: enough - 1 }, (_, index) => publish(1 + index))
    await sleep(100)
    expect(onRequest).toHaveBeenCalledTimes(1)
    const outcomes = await Promise.all([...waiting, publish(enough), publish(enough + 1)])
    expect(outcomes).toEqual(outcomes.map((_, index) => ({ outcome: 'published', offset: BigInt(1 + index) })))
    expect(onRequest.mock.calls.map(([{ sent }]) => sent.length)).toEqual([1, enough + 1])
  })

  it('returns the offset of each record', async () => {
    const topic = await givenTopic(3)
    const publisher = await givenPublisher(givenConnection())
    let left = 2_000
    const outcomes = await publishWith64Callers(publisher, topic, () => (left -= 1) < 0)
    expect(count(outcomes.values(), 'published')).toBe(2_000)
    await expectLogToAgree(topic, outcomes)
  })

  it('keeps the order of arrival within a partition at any rate of records', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection(), { maxBatchRecords: 70 })
    const values = Array.from({ length: 1_000 }, (_, index) => String(index))
    for (let burst = 0; burst < values.length; burst += 300) {
      const records = values.slice(burst, burst + 300).map((value) => recordOf(topic, 0, value))
      await Promise.all(records.map((record) => publisher.publish(record, inMs(10_000))))
    }
    expect((await readAll(topic, 1)).map(({ value }) => String(value))).toEqual(values)
  })

  it('splits waiting records into requests that the broker accepts', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection())
    const large = 'x'.repeat(100_000)
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, () => publisher.publish(recordOf(topic, 0, large), inMs(10_000))),
    )
    expect(count(outcomes, 'published')).toBe(40)
  })

  it('keeps keys and headers of any name', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection())
    const headers = Object.fromEntries([
      ['__proto__', 'p'],
      ['ce_type', 'Thing happened'],
    ])
    await publisher.publish({ topic, partition: 0, key: 'ключ', value: 'é', headers }, inMs(10_000))
    const [record] = await readAll(topic, 1)
    expect({ key: String(record?.key), value: String(record?.value) }).toEqual({ key: 'ключ', value: 'é' })
    expect(Object.entries(record?.headers ?? {})).toEqual(Object.entries(headers))
  })

  it('keeps the bytes of keys, values and headers of every length and script', async () => {
    const topic = await givenTopic(3)
    const publisher = await givenPublisher(givenConnection())
    const lengths = [0, 1, 63, 64, 127, 128, 511, 512, 8_191, 8_192, 70_000]
    const records = lengths.flatMap((length, index) =>
      ['a', 'é', '😀'].map((letter, partition) => {
        const text = letter.repeat(length)
        const headers = { ce_id: `${index}`, first: text.slice(0, 2_000), 'zweiter-Größe': letter, empty: '' }
        return { topic, partition, key: `${letter}-${index}`, value: length === 1 ? null : text, headers }
      }),
    )
    await Promise.all(records.map((record) => publisher.publish(record, inMs(20_000))))
    const found = await readAll(topic, 3)
    expect(
      found.map(({ partition, key, value, headers }) => ({
        topic,
        partition,
        key: key?.toString(),
        value: value === null ? null : value.toString(),
        headers,
      })),
    ).toEqual(records.toSorted((one, other) => one.partition - other.partition))
  })

  it('returns an unknown outcome for a record of a partition that does not exist', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection())
    const [there, elsewhere] = await Promise.all([
      publisher.publish(recordOf(topic, 0, 'a'), inMs(10_000)),
      publisher.publish(recordOf(topic, 7, 'b'), inMs(10_000)),
    ])
    expect(there).toEqual({ outcome: 'published', offset: 0n })
    expect(elsewhere).toMatchObject({ outcome: 'unknown', cause: { code: 'PARTITION_UNANSWERED' } })
  })

  it('arms no timers while it is idle', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection())
    await publisher.publish(recordOf(topic, 0, 'a'), inMs(10_000))
    const arm = vi.spyOn(globalThis, 'setTimeout')
    await sleep(500)
    expect(arm.mock.calls.length).toBeLessThan(10) // kafkajs without our patch: one every millisecond
    arm.mockRestore()
  })

  it('settles all records at its stop and refuses later ones', async () => {
    const topic = await givenTopic(1)
    const publisher = await givenPublisher(givenConnection(), { maxBatchRecords: 10 })
    const before = Array.from({ length: 100 }, (_, index) =>
      publisher.publish(recordOf(topic, 0, `${index}`), inMs(10_000)),
    )
    await publisher.stop(5_000)
    const outcomes = await Promise.all(before)
    const published = count(outcomes, 'published')
    expect(outcomes.slice(published)).toEqual(
      Array.from({ length: 100 - published }, () => ({ outcome: 'not-published', reason: 'stopped' })),
    )
    expect(await publisher.publish(recordOf(topic, 0, 'late'), inMs(10_000))).toEqual({
      outcome: 'not-published',
      reason: 'stopped',
    })
    expect(await readAll(topic, 1)).toHaveLength(published)
  })
})

describe('a publisher whose broker fails', () => {
  it('neither loses nor duplicates a record when 20 responses are lost', async () => {
    const topic = await givenTopic(3)
    const { proxy, connection } = await givenFaultProxy()
    // With one record per request, a broker could take two requests of equal size for one.
    const publisher = await givenPublisher(connection, { requestTimeoutMs: 600, maxBatchRecords: 1 })
    // After one lost response, the retry succeeds. After two in succession, the outcome is unknown.
    const single = Array.from({ length: 8 }, (_, index) => 50 + 100 * index)
    const double = Array.from({ length: 6 }, (_, index) => 100 * (index + 1)).flatMap((first) => [first, first + 1])
    proxy.onResponse(strike('lose', [...single, ...double]))
    let stillToCome = 200
    const outcomes = await publishWith64Callers(
      publisher,
      topic,
      () => proxy.struck().lost === 20 && (stillToCome -= 1) < 0,
    )
    expect(count(outcomes.values(), 'unknown')).toBeGreaterThan(0)
    expect(count(outcomes.values(), 'published')).toBeGreaterThan(500)
    await expectLogToAgree(topic, outcomes)
  })

  it('continues after its connection is cut in the middle of a response', async () => {
    const topic = await givenTopic(3)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection, { requestTimeoutMs: 1_000 })
    const which = Array.from({ length: 10 }, (_, index) => 5 + 10 * index)
    proxy.onResponse(strike({ cutAfterBytes: 20 }, which))
    let stillToCome = 200
    const outcomes = await publishWith64Callers(
      publisher,
      topic,
      () => proxy.struck().cut === which.length && (stillToCome -= 1) < 0,
    )
    expect(count(outcomes.values(), 'published')).toBeGreaterThan(1_000)
    await expectLogToAgree(topic, outcomes)
  })

  it.each([2, 5, 20, 50])(
    'connects although its first connection is cut %i bytes into a response',
    async (cutAfterBytes) => {
      const { proxy, connection } = await givenFaultProxy()
      let answers = 0
      proxy.onResponse(() => ((answers += 1) === 1 ? { cutAfterBytes } : 'pass'))
      const publisher = await givenPublisher(connection)
      expect(publisher.isConnected()).toBe(true)
      expect(proxy.struck().cut).toBe(1)
    },
  )

  it('answers each caller by its deadline while the link is dead, keeps to its bounds, and recovers', async () => {
    const topic = await givenTopic(3)
    const { proxy, connection } = await givenFaultProxy()
    const limits = { maxQueuedRecords: 500, maxBatchRecords: 100, requestTimeoutMs: 2_000, connectTimeoutMs: 400 }
    const publisher = await givenPublisher(connection, limits)
    proxy.setLink('black-hole')
    const first = publisher.publish(recordOf(topic, 0, 'first'), inMs(1_000))
    await sleep(300) // the first is in a request now
    const later = Array.from({ length: 2_000 }, (_, index) =>
      publisher.publish(recordOf(topic, 0, `${index}`), inMs(600)),
    )

    expect(await first).toMatchObject({ outcome: 'unknown', cause: { code: 'ANSWER_OVERDUE' } })
    const outcomes = await Promise.all(later)
    expect(outcomes.slice(0, 500).every((one) => one.outcome === 'not-published' && one.reason === 'deadline')).toBe(
      true,
    )
    expect(outcomes.slice(500)).toEqual(
      Array.from({ length: 1_500 }, () => ({ outcome: 'not-published', reason: 'queue-full' })),
    )
    await vi.waitFor(() => expect(publisher.isConnected()).toBe(false), { timeout: 10_000 })

    proxy.setLink('open')
    proxy.cutAll()
    await vi.waitFor(() => expect(publisher.isConnected()).toBe(true), { timeout: 20_000 })
    expect(await publisher.publish(recordOf(topic, 0, 'after'), inMs(10_000))).toMatchObject({ outcome: 'published' })
    expect((await readAll(topic, 3)).map(({ value }) => String(value)).filter((value) => value !== 'first')).toEqual([
      'after',
    ])
  })

  it('never repeats a request that it has given up', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection, { requestTimeoutMs: 500 })
    proxy.setLink('black-hole')
    const givenUp = publisher.publish(recordOf(topic, 0, 'given up'), inMs(10_000))
    expect(await givenUp).toMatchObject({ outcome: 'unknown', cause: { code: 'REQUEST_OVERDUE' } })
    proxy.setLink('open')
    expect(await publisher.publish(recordOf(topic, 0, 'after'), inMs(10_000))).toMatchObject({ outcome: 'published' })
    await sleep(2_000) // kafkajs left alone would have tried again by now
    expect((await readAll(topic, 1)).map(({ value }) => String(value))).toEqual(['after'])
  })

  it('sends no further record of a sequence after a failed one, but records of other sequences', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection, { requestTimeoutMs: 500, maxBatchRecords: 1 })
    const [sequence, other] = [{ isBroken: false }, { isBroken: false }]
    proxy.setLink('black-hole')
    const outcomes = [
      publisher.publish(recordOf(topic, 0, 'first'), inMs(10_000), sequence),
      publisher.publish(recordOf(topic, 0, 'second'), inMs(10_000), sequence),
      publisher.publish(recordOf(topic, 0, 'other'), inMs(10_000), other),
    ]
    expect(await outcomes[0]).toMatchObject({ outcome: 'unknown' })
    proxy.setLink('open')
    expect(await outcomes[1]).toEqual({ outcome: 'not-published', reason: 'broken-sequence' })
    // It was sent, before or after the link opened.
    expect(await outcomes[2]).not.toMatchObject({ outcome: 'not-published' })
    expect(sequence).toEqual({ isBroken: true })
  })

  it('bounds its queue in bytes, too', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection, { maxQueuedBytes: 1_000_000, maxBatchBytes: 100_000 })
    proxy.setLink('black-hole')
    const large = { topic, partition: 0, key: 'k', value: 'x'.repeat(99_000), headers: {} }
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => publisher.publish(large, inMs(300))))
    expect(outcomes.filter((one) => one.outcome === 'not-published' && one.reason === 'queue-full')).toHaveLength(10)
  })

  it('keeps waiting records until the broker returns or their deadline passes', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection)
    proxy.setLink('refuse')
    await vi.waitFor(() => expect(publisher.isConnected()).toBe(false), { timeout: 10_000 })
    const waiting = publisher.publish(recordOf(topic, 0, 'patient'), inMs(30_000))
    await vi.waitFor(() => expect(proxy.struck().refused).toBeGreaterThan(2), { timeout: 10_000 })
    proxy.setLink('open')
    expect(await waiting).toEqual({ outcome: 'published', offset: 0n })
  })

  it('keeps a record that waits to share a request when the link closes', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const publisher = await givenPublisher(connection, { requestSpacingMs: 1_000 })
    await publisher.publish(recordOf(topic, 0, 'first'), inMs(10_000))
    const waiting = publisher.publish(recordOf(topic, 0, 'waiting'), inMs(30_000))
    proxy.setLink('refuse')
    await vi.waitFor(() => expect(publisher.isConnected()).toBe(false), { timeout: 10_000 })
    await vi.waitFor(() => expect(proxy.struck().refused).toBeGreaterThan(2), { timeout: 10_000 })
    proxy.setLink('open')
    expect(await waiting).toEqual({ outcome: 'published', offset: 1n })
  })

  it('reports the records, the time and the acknowledgement of each request', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const onRequest = vi.fn<NonNullable<PublisherOptions['onRequest']>>()
    const publisher = await givenPublisher(connection, { onRequest, requestTimeoutMs: 3_000 })
    await Promise.all([0, 1, 2].map((index) => publisher.publish(recordOf(topic, 0, String(index)), inMs(5_000))))
    const sent = [0, 1, 2].map((index) => recordOf(topic, 0, String(index)))
    const [beganAt, durationMs] = [expect.any(Number), expect.any(Number)] as [number, number]
    expect(onRequest.mock.calls).toEqual([[{ sent, beganAt, durationMs, isAcknowledged: true }]])
    proxy.setLink('black-hole')
    await publisher.publish(recordOf(topic, 0, 'lost'), inMs(1_000))
    await vi.waitFor(
      () =>
        expect(onRequest).toHaveBeenLastCalledWith(
          expect.objectContaining({ sent: [recordOf(topic, 0, 'lost')], isAcknowledged: false }),
        ),
      { timeout: 20_000 },
    )
  })

  it('rejects its start if no broker is reachable', async () => {
    const publisher = createPublisher({ brokers: ['127.0.0.1:1'], clientId: 'log-spec' }, { connectTimeoutMs: 500 })
    await expect(publisher.start()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE', retryable: true })
  })
})

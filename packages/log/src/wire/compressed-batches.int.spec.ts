import { randomBytes } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { until } from '@nextvisit/testing'
import { givenMember, numbers, valuesOf } from '../../test/given-member.ts'
import { givenConnection, givenRecords, givenTopic, readAll } from '../../test/given-topic.ts'
import { publishCompressed, spaces } from '../../test/publish-compressed.ts'
import { withLogAdmin } from '../admin/with-log-admin.ts'
import type { FetchedBatch } from '../read/fetched-batch.ts'
import { readLog } from '../read/read-log.ts'
import type { FetchedRecord } from './fetched-record.ts'

/**
 * Creates a topic whose records the broker compresses. The broker loads a codec's library at the first batch, which may take
 * longer than a publish timeout: the second partition takes that batch.
 */
async function givenCompressedTopic(compression: string): Promise<string> {
  const topic = `log-spec.${compression}.${randomBytes(8).toString('hex')}`
  const settings = { partitions: 2, config: { 'compression.type': compression } }
  await withLogAdmin(givenConnection(), (admin) => admin.createTopic(topic, settings))
  await vi.waitFor(() => givenRecords(topic, 1, ['first']), { timeout: 60_000 })
  return topic
}

/** Returns short and long values: compressible ones, noise, and distant repetitions. */
function givenValues(): readonly string[] {
  const [noise, other] = [randomBytes(20_000).toString('base64'), randomBytes(9_000).toString('base64')]
  return [...numbers(0, 300), 'x', 'na'.repeat(40_000), noise, '', other, `${noise}!`, 'y'.repeat(300_000), other]
}

describe.each(['gzip', 'snappy', 'lz4', 'zstd'])('a topic with compression.type=%s', (compression) => {
  it('is read by a group reader and by a log reader', async () => {
    const [topic, values] = [await givenCompressedTopic(compression), givenValues()]
    await givenRecords(topic, 0, values)
    expect((await readAll(topic, 1)).map(({ value }) => String(value))).toEqual(values)
    const { batches, crashes } = await givenMember({ topic, maxBytesPerPartition: 100_000 })
    await until(() => valuesOf(batches, 0).length >= values.length)
    expect(valuesOf(batches, 0)).toEqual(values)
    expect(crashes).toEqual([])
  })
})

const MIB = 1024 * 1024

/** Publishes a valid record, a batch that no reader decodes, and another valid record. */
async function givenTooLargeBatch(topic: string): Promise<void> {
  await givenRecords(topic, 0, numbers(0, 5))
  await publishCompressed(givenConnection(), { topic, partition: 0 }, { records: 1, value: spaces(17 * MIB) })
  await givenRecords(topic, 0, ['later'])
}

describe('a batch that inflates beyond the maximum size', () => {
  it('makes only its partition unreadable, at its first record', async () => {
    const topic = await givenTopic(2)
    await givenTooLargeBatch(topic)
    const unreadable: object[] = []
    const { batches, crashes } = await givenMember({
      topic,
      onUnreadable: (_, partition, error) => void unreadable.push({ partition, error }),
    })
    await until(() => unreadable.length > 0)
    await givenRecords(topic, 1, numbers(0, 5))
    await until(() => valuesOf(batches, 1).length === 5)
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 5))
    expect(unreadable).toEqual([{ partition: 0, error: expect.objectContaining({ code: 'BATCH_UNDECODABLE' }) }])
    expect(crashes).toEqual([])
    await expect(readAll(topic, 2)).rejects.toMatchObject({ code: 'BATCH_UNDECODABLE' })
  })

  it('is read as one record that stands in for it, by readers that ask for that', async () => {
    const topic = await givenTopic(1)
    await givenTooLargeBatch(topic)
    const standIn = {
      offset: 5n,
      key: null,
      value: Buffer.alloc(0),
      headers: {
        'omitted-because': `The batch at offset 5 of ${topic}/0 cannot be decoded: it has more than 16777216 bytes once it is decompressed`,
        'omitted-bytes': expect.stringMatching(/^\d{3,4}$/),
        'omitted-sha256': expect.stringMatching(/^[0-9a-f]{64}$/),
        'omitted-offsets': '5-5',
        'omitted-records': '1',
      },
      undecodable: { lastOffset: 5n, error: expect.objectContaining({ code: 'BATCH_UNDECODABLE' }) },
    }
    const records: FetchedRecord[] = []
    const onBatch = (batch: FetchedBatch): void => void records.push(...batch.records)
    const reading = { topic, from: new Map([[0, 0n]]), until: 'end', withStandIns: true, onBatch } as const
    await readLog(givenConnection(), reading)
    expect(records[5]).toMatchObject(standIn)
    expect(records.map(({ value }) => String(value))).toEqual([...numbers(0, 5), '', 'later'])
    const { batches } = await givenMember({ topic, withStandIns: true })
    await until(() => valuesOf(batches, 0).length === 7)
    expect(batches.flatMap((batch) => batch.records)[5]).toMatchObject(standIn)
  })
})

it('a dozen small batches with records of 60 MB in one fetch take no more memory than one batch may', async () => {
  const topic = await givenTopic(1)
  await publishCompressed(givenConnection(), { topic, partition: 0 }, { records: 1, value: spaces(60 * MIB) }, 12)
  await givenRecords(topic, 0, ['later'])
  const before = process.memoryUsage().external
  let mostBytes = 0
  const offsets: bigint[] = []
  await readLog(givenConnection(), {
    topic,
    from: new Map([[0, 0n]]),
    until: 'end',
    withStandIns: true,
    onBatch: ({ records }) => {
      mostBytes = Math.max(mostBytes, process.memoryUsage().external - before)
      offsets.push(...records.map(({ offset }) => offset))
    },
  })
  expect(offsets).toEqual(Array.from({ length: 13 }, (_, offset) => BigInt(offset)))
  expect(mostBytes).toBeLessThan(12 * 16 * MIB)
})

import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '@nextvisit/testing'
import { givenMember, numbers, valuesOf } from '../../test/given-member.ts'
import { givenConnection, givenRecords, givenTopic, readAll } from '../../test/given-topic.ts'
import { withLogAdmin } from '../admin/with-log-admin.ts'

const { CompressionCodecs, CompressionTypes, Kafka } = kafkajs

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

const compress = ({ buffer }: { readonly buffer: Buffer }) => promisify(zstdCompress)(buffer)

/** Publishes zeros with kafkajs' producer, in a small Zstandard batch that inflates to this many bytes. */
async function publishZeros(topic: string, partition: number, bytes: number): Promise<void> {
  const before = CompressionCodecs[CompressionTypes.ZSTD]
  onTestFinished(() => void (CompressionCodecs[CompressionTypes.ZSTD] = before))
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress })
  const producer = new Kafka({ brokers: [...givenConnection().brokers] }).producer()
  await producer.connect()
  const messages = [{ value: Buffer.alloc(bytes), partition }]
  await producer.send({ topic, messages, compression: CompressionTypes.ZSTD })
  await producer.disconnect()
}

describe('a batch that inflates beyond the maximum size', () => {
  it('makes only its partition unreadable, at its first record', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 5))
    await publishZeros(topic, 0, 65 * 1024 * 1024)
    await givenRecords(topic, 0, ['later'])
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
})

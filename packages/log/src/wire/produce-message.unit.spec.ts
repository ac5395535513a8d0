import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodedBatches, int16, int32, int64 } from '../../test/encoded-batch.ts'
import { produceMessage, type PartitionToProduce } from './produce-message.ts'
import type { RecordToEncode } from './record-batch.ts'

/** ASCII and other text, with sizes around those at which the length takes another byte. */
const text = fc.oneof(
  fc.string({ maxLength: 70 }),
  fc.string({ unit: 'binary', maxLength: 70 }),
  fc.constantFrom(62, 63, 64, 65, 8_191, 8_192).map((size) => 'x'.repeat(size)),
)
const name = fc.oneof(text, fc.constantFrom('ce_id', '__proto__', 'toString', '7'))

const record: fc.Arbitrary<RecordToEncode> = fc.record({
  key: text,
  value: fc.option(text, { freq: 5 }),
  headers: fc.array(fc.tuple(name, text), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
})

const producer = fc.record({ producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), producerEpoch: fc.nat(32_767) })
const sequence = fc.nat(2 ** 31 - 1)
const topics = fc.constantFrom('user-events', 'x'.repeat(249))

const TIMESTAMP_MS = 1_764_000_000_000

type Batch = Parameters<typeof encodedBatches>[0][number]

/** Encodes a partition of a request as Kafka's protocol describes it, without its checksum. */
function expectedPart({ partition, firstSequence, records }: PartitionToProduce, of: Partial<Batch>): Buffer {
  const encoded = records.map((one, index) => ({
    offsetDelta: index,
    timestampDelta: 0n,
    key: Buffer.from(one.key),
    value: one.value === null ? null : Buffer.from(one.value),
    headers: Object.entries(one.headers).map(([key, value]) => [key, Buffer.from(value)] as const),
  }))
  const at = { firstOffset: 0n, firstTimestamp: BigInt(TIMESTAMP_MS) }
  return Buffer.concat([int32(partition), encodedBatches([{ ...at, ...of, firstSequence, records: encoded }])])
}

describe('a produce request', () => {
  it('encodes any keys, values and headers', async () => {
    const partitions = fc.array(fc.tuple(sequence, fc.array(record, { minLength: 1, maxLength: 6 })), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(partitions, topics, producer, async (published, topic, id) => {
        const ofTopic = published.map(([firstSequence, records], partition) => ({
          topic,
          partition,
          firstSequence,
          records,
        }))
        const message = produceMessage({ ...id, partitions: ofTopic, timestampMs: TIMESTAMP_MS, timeoutMs: 1_500 })
        const { buffer, buf, size } = await message.request.encode()
        expect([buf, size()]).toEqual([buffer, buffer.length])

        const parts = ofTopic.map((one) => expectedPart(one, id))
        const [noTransaction, acks] = [Buffer.from([255, 255]), Buffer.from([255, 255])]
        const ofName = Buffer.concat([Buffer.from([0, topic.length]), Buffer.from(topic)])
        const before = [noTransaction, acks, int32(1_500), int32(1), ofName, int32(published.length)]
        expect(buffer.toString('hex')).toBe(Buffer.concat([...before, ...parts]).toString('hex'))
      }),
    )
  })

  it('contains each topic once, for any order of its partitions', async () => {
    const records = [{ key: 'k', value: 'v', headers: {} }]
    const partOf = (topic: string, partition: number) => ({ topic, partition, firstSequence: 0, records })
    const partitions = [partOf('one', 0), partOf('other', 0), partOf('one', 1)]
    const id = { producerId: 1n, producerEpoch: 0 }
    const message = produceMessage({ ...id, partitions, timestampMs: TIMESTAMP_MS, timeoutMs: 1_500 })
    const { buffer } = await message.request.encode()
    const latin = buffer.toString('latin1')
    expect([buffer.readInt32BE(8), latin.split('one').length, latin.split('other').length]).toEqual([2, 2, 2])
  })
})

function encodedPartition(partition: number, errorCode: number, baseOffset: bigint): Buffer {
  return Buffer.concat([int32(partition), int16(errorCode), int64(baseOffset), int64(-1n), int64(0n)])
}

function encodedTopic(topic: string, ...partitions: readonly Buffer[]): Buffer {
  return Buffer.concat([int16(topic.length), Buffer.from(topic), int32(partitions.length), ...partitions])
}

describe('the response to a produce request', () => {
  it('contains the error and the first offset of each partition', async () => {
    const ofTopics = [
      encodedTopic('one', encodedPartition(0, 0, 2n ** 40n), encodedPartition(3, 6, -1n)),
      encodedTopic('other', encodedPartition(1, 0, 0n)),
    ]
    const { response } = produceMessage({
      producerId: 1n,
      producerEpoch: 0,
      partitions: [],
      timestampMs: TIMESTAMP_MS,
      timeoutMs: 1_500,
    })
    const decoded = await response.decode(Buffer.concat([int32(ofTopics.length), ...ofTopics, int32(70)]))
    expect(decoded).toEqual({
      answer: [
        { topic: 'one', partition: 0, errorCode: 0, baseOffset: 2n ** 40n },
        { topic: 'one', partition: 3, errorCode: 6, baseOffset: -1n },
        { topic: 'other', partition: 1, errorCode: 0, baseOffset: 0n },
      ],
      clientSideThrottleTime: 70,
    })
  })
})

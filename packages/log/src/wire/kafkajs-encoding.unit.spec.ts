import * as fc from 'fast-check'
import produceRequest, { type MessageToEncode } from 'kafkajs/src/protocol/requests/produce/v3/request.js'
import { expect, it } from 'vitest'
import { encodedBatches, int32 } from '../../test/encoded-batch.ts'

/** In a batch: its first offset, its length, the leader's epoch and the magic byte come before the checksum. */
const CRC_AT = 17

/** ASCII and not, and of sizes around those where the length takes another byte. */
const text = fc.oneof(
  fc.string({ maxLength: 70 }),
  fc.string({ unit: 'binary', maxLength: 70 }),
  fc.constantFrom(62, 63, 64, 65, 8_191, 8_192).map((size) => 'x'.repeat(size)),
)
const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const bytesOrText = fc.oneof(text, bytes)
const name = fc.oneof(text, fc.constantFrom('ce_id', '__proto__', 'toString', '7'))
const header = fc.oneof(bytesOrText, fc.array(bytesOrText, { maxLength: 3 }))

const message: fc.Arbitrary<MessageToEncode> = fc.record({
  key: fc.option(bytesOrText, { freq: 5 }),
  value: fc.option(bytesOrText, { freq: 5 }),
  timestamp: fc.constant('1764000000000'),
  headers: fc.array(fc.tuple(name, header), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
})

const asBytes = (value: Buffer | string): Buffer => Buffer.from(value as string)
const asBytesOrNull = (value: Buffer | string | null): Buffer | null => (value === null ? null : asBytes(value))

function headersOf({ headers }: MessageToEncode): (readonly [string, Buffer])[] {
  return Object.entries(headers).flatMap(([key, values]) =>
    [values ?? []].flat().map((value) => [key, asBytes(value)] as const),
  )
}

/** A partition's part of a request, written as Kafka's protocol describes it, and without its checksum. */
function expectedPart(partition: number, messages: readonly MessageToEncode[]): Buffer {
  const records = messages.map((one, index) => ({
    offsetDelta: index,
    timestampDelta: 0n,
    key: asBytesOrNull(one.key),
    value: asBytesOrNull(one.value),
    headers: headersOf(one),
  }))
  const batch = encodedBatches([{ firstOffset: 0n, firstTimestamp: 1_764_000_000_000n, records }])
  return Buffer.concat([int32(partition), batch])
}

/** The broker checks the checksums in the specs of the publisher. */
function withoutChecksums(request: Buffer, parts: readonly Buffer[]): Buffer {
  let at = request.length - parts.reduce((size, part) => size + part.length, 0)
  for (const part of parts) {
    request.fill(0, at + 8 + CRC_AT, at + 8 + CRC_AT + 4)
    at += part.length
  }
  return request
}

it('our encoder of what is published writes any keys, values and headers (infra/patches)', async () => {
  const partitions = fc.array(fc.array(message, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(partitions, fc.constantFrom('user-events', 'x'.repeat(249)), async (published, topic) => {
      const ofTopic = published.map((messages, partition) => ({ partition, messages, firstSequence: -1 }))
      const topicData = [{ topic, partitions: ofTopic }]
      const { buffer } = await produceRequest({ acks: -1, timeout: 1_500, producerEpoch: -1, topicData }).encode()

      const parts = published.map((messages, partition) => expectedPart(partition, messages))
      const [noTransaction, acks] = [Buffer.from([255, 255]), Buffer.from([255, 255])]
      const ofName = Buffer.concat([Buffer.from([0, topic.length]), Buffer.from(topic)])
      const before = [noTransaction, acks, int32(1_500), int32(1), ofName, int32(published.length)]
      expect(withoutChecksums(buffer, parts).toString('hex')).toBe(Buffer.concat([...before, ...parts]).toString('hex'))
    }),
  )
})

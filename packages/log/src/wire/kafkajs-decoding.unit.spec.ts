import * as fc from 'fast-check'
import Batch from 'kafkajs/src/consumer/batch.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import decodeMessages from 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js'
import { describe, expect, it } from 'vitest'
import { type EncodedBatch, encodedBatches, type EncodedRecord, varint } from '../../test/encoded-batch.ts'
import { toFetchedBatches } from '../read/fetched-batches.ts'
import type { FetchedRecord } from '../read/record-consumer.ts'

/** Of every size that a varint may have. */
const ofEverySize = (bits: number) =>
  fc
    .integer({ min: 0, max: bits - 1 })
    .chain((size) => fc.bigInt({ min: -(1n << BigInt(size)), max: (1n << BigInt(size)) - 1n }))

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const bytesOrNull = fc.option(bytes, { freq: 5 })
const name = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('ce_id', 'twice', '__proto__', 'toString', 'constructor', '7'),
)
const text = fc.string({ unit: 'grapheme', maxLength: 80 }).map((value) => Buffer.from(value))
const textOrNull = fc.option(text, { freq: 5 })

const record: fc.Arbitrary<EncodedRecord> = fc.record({
  offsetDelta: fc.nat({ max: 3 }),
  // The sum with the first timestamp is a number.
  timestampDelta: ofEverySize(52),
  key: bytesOrNull,
  value: bytesOrNull,
  headers: fc.array(fc.tuple(name, textOrNull), { maxLength: 8 }),
})

/** Batches as a log has them: offsets ascend, with holes. */
const batches: fc.Arbitrary<readonly EncodedBatch[]> = fc
  .tuple(
    ofEverySize(63).map((offset) => (offset < 0n ? -offset : offset) >> 1n),
    fc.array(fc.tuple(fc.bigInt({ min: 0n, max: 1n << 42n }), fc.array(record, { minLength: 1, maxLength: 6 })), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([begin, parts]) => {
    let next = begin
    return parts.map(([firstTimestamp, records]) => {
      const firstOffset = next
      const placed = records.map((one) => {
        const offsetDelta = Number(next - firstOffset) + one.offsetDelta
        next = firstOffset + BigInt(offsetDelta) + 1n
        return { ...one, offsetDelta }
      })
      return { firstOffset, firstTimestamp, records: placed }
    })
  })

/** What is to come out of the log, from a position on. */
function expectedRecords(encoded: readonly EncodedBatch[], position: bigint): readonly FetchedRecord[] {
  const all = encoded.flatMap(({ firstOffset, firstTimestamp, records }) =>
    records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
      topic: 'any',
      partition: 3,
      offset: firstOffset + BigInt(offsetDelta),
      timestampMs: Number(firstTimestamp + timestampDelta),
      key,
      value,
      headers: lastOfEach(headers),
    })),
  )
  return all.filter(({ offset }) => offset >= position)
}

function lastOfEach(headers: EncodedRecord['headers']): FetchedRecord['headers'] {
  const last = new Map(headers)
  return Object.fromEntries([...last].flatMap(([key, value]) => (value === null ? [] : [[key, value.toString()]])))
}

describe('our decoder of what is fetched (infra/patches)', () => {
  it('reads varints of every size', () => {
    fc.assert(
      fc.property(ofEverySize(64), (value) => {
        const decoder = new Decoder(varint(value))
        expect(decoder.readVarLong().value).toBe(value)
        expect(decoder.offset).toBe(varint(value).length)
      }),
      { numRuns: 1_000 },
    )
    fc.assert(
      fc.property(ofEverySize(32), (value) => {
        expect(new Decoder(varint(value)).readVarInt()).toBe(Number(value))
      }),
      { numRuns: 1_000 },
    )
  })

  it('reads records with any deltas, keys, values and headers, from the position on', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.bigInt({ min: -3n, max: 30n }), async (encoded, before) => {
        const position = (encoded[0]?.firstOffset ?? 0n) + before
        const messages = await decodeMessages(new Decoder(encodedBatches(encoded)))
        const partitionData = { partition: 3, messages, highWatermark: '100', abortedTransactions: [] }
        const batch = new Batch('any', `${position}`, partitionData)
        const records = toFetchedBatches(batch, 1_000).flatMap((part) => part.records)
        const expected = expectedRecords(encoded, position)
        expect(records).toEqual(expected)
        expect(records.map(({ headers }) => Object.keys(headers).toSorted())).toEqual(
          expected.map(({ headers }) => Object.keys(headers).toSorted()),
        )
      }),
    )
  })
})

import * as fc from 'fast-check'
import { countArraySteps } from '@nextvisit/contracts/count-array-steps'
import { describe, expect, it } from 'vitest'
import {
  type EncodedBatch,
  encodedBatches,
  encodedFetchResponse,
  type EncodedPartition,
  type WireRecord,
  int16,
  int32,
  int64,
  varint,
} from '../../test/encoded-batch.ts'
import { readFetched } from '../../test/read-fetched.ts'
import { type FetchedRecord, recordTimeMs } from './fetched-record.ts'
import { ByteReader } from './byte-reader.ts'
import { type FetchedPartition, fetchMessage } from './fetch-message.ts'
import { splitBatches } from './split-batches.ts'

/** Numbers with varints of every size. */
const ofEverySize = (bits: number) =>
  fc
    .integer({ min: 0, max: bits - 1 })
    .chain((size) => fc.bigInt({ min: -(1n << BigInt(size)), max: (1n << BigInt(size)) - 1n }))

const someBytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const bytesOrNull = fc.option(someBytes, { freq: 5 })
const name = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('ce_id', 'twice', '__proto__', 'toString', 'constructor', '7'),
)
const text = fc.string({ unit: 'grapheme', maxLength: 80 }).map((value) => Buffer.from(value))
const textOrNull = fc.option(text, { freq: 5 })

const record: fc.Arbitrary<WireRecord> = fc.record({
  offsetDelta: fc.nat({ max: 3 }),
  // The sum with the first timestamp is a number.
  timestampDelta: ofEverySize(52),
  key: bytesOrNull,
  value: bytesOrNull,
  headers: fc.array(fc.tuple(name, textOrNull), { maxLength: 8 }),
})

/** Batches as a log has them: offsets ascend, with holes. */
const inLog: fc.Arbitrary<readonly EncodedBatch[]> = fc
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

/** The records that the log should return from a position on. */
function expectedRecords(encoded: readonly EncodedBatch[], position: bigint): readonly FetchedRecord[] {
  const all = encoded.flatMap(({ firstOffset, firstTimestamp, records }) =>
    records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
      topic: 'any',
      partition: 3,
      offset: firstOffset + BigInt(offsetDelta),
      timestampMs: recordTimeMs(firstTimestamp + timestampDelta),
      key,
      value,
      headers: lastOfEach(headers),
    })),
  )
  return all.filter(({ offset }) => offset >= position)
}

function lastOfEach(headers: WireRecord['headers']): FetchedRecord['headers'] {
  const last = new Map(headers)
  return Object.fromEntries([...last].flatMap(([key, value]) => (value === null ? [] : [[key, value.toString()]])))
}

/** Decodes a response about partition 3, which was fetched from `offset`. */
async function fetched(offset: bigint, response: Buffer): Promise<readonly FetchedPartition[]> {
  const positions = [{ topic: 'any', partition: 3, offset }]
  const { response: ours } = fetchMessage({ positions, maxWaitMs: 100, maxBytesPerPartition: 1, maxBytes: 1 })
  return ours.parse(await ours.decode(response))
}

async function read(encoded: readonly EncodedBatch[], offset = 0n) {
  return readBytes(encodedBatches(encoded), offset)
}

async function readBytes(batches: Buffer, offset = 0n, aborted: EncodedPartition['aborted'] = []) {
  const partition = { partition: 3, highWatermark: END_OF_LOG, aborted, batches }
  const [only] = await fetched(offset, encodedFetchResponse('any', [partition]))
  if (!only) throw new Error('The response has no partition')
  return readFetched(only)
}

function recordOf(offsetDelta: number, fields: Partial<WireRecord> = {}): WireRecord {
  return { offsetDelta, timestampDelta: 1n, key: null, value: Buffer.from(`${offsetDelta}`), headers: [], ...fields }
}

function batchOf(
  firstOffset: bigint,
  offsetDeltas: readonly number[],
  fields: Partial<EncodedBatch> = {},
): EncodedBatch {
  return { firstOffset, firstTimestamp: 1_000n, records: offsetDeltas.map((delta) => recordOf(delta)), ...fields }
}

function askedPartition(partition: number, offset: bigint): Buffer {
  return Buffer.concat([int32(partition), int32(-1), int64(offset), int64(-1n), int32(1_100_000)])
}

const END_OF_LOG = 2n ** 63n - 1n

const offsetsOf = ({ records }: { readonly records: readonly FetchedRecord[] }) => records.map(({ offset }) => offset)

/** Attributes of a batch. */
const [IN_TRANSACTION, CONTROL, APPEND_TIME] = [1 << 4, (1 << 4) | (1 << 5), 1 << 3]

const by = (producerId: bigint, attributes: number) => ({ producerId, attributes })

/** Returns the steps of skipping a batch and an end marker of as many aborted transactions. */
async function stepsOfSkipping(transactions: number): Promise<number> {
  const numbers = Array.from({ length: transactions }, (_, nth) => BigInt(nth))
  const aborted = numbers.map((nth) => ({ producerId: nth, firstOffset: 2n * nth }))
  const batches = encodedBatches(
    numbers.flatMap((nth) => [
      batchOf(2n * nth, [0], by(nth, IN_TRANSACTION)),
      batchOf(2n * nth + 1n, [0], by(nth, CONTROL)),
    ]),
  )
  const partition = { partition: 3, highWatermark: END_OF_LOG, aborted, batches }
  const response = encodedFetchResponse('any', [partition])
  const [only] = await fetched(0n, response)
  expect(only?.batches).toEqual([])
  const of = { topic: 'any', partition: 3, fetchedFrom: 0n, highWatermark: END_OF_LOG }
  return countArraySteps(() => splitBatches({ ...of, abortedTransactions: aborted, bytes: batches.subarray(4) }))
}

describe('a fetch message', () => {
  it('requests each partition from its position, in the given order', async () => {
    const positions = [
      { topic: 'a', partition: 1, offset: 7n },
      { topic: 'a', partition: 0, offset: 2n ** 60n },
      { topic: 'bc', partition: 2, offset: 0n },
    ]
    const limits = { maxWaitMs: 2_000, maxBytesPerPartition: 1_100_000, maxBytes: 1_048_576 }
    const { request, requestTimeout } = fetchMessage({ positions, ...limits })
    const encoded = await request.encode()
    const before = [int32(-1), int32(2_000), int32(1), int32(1_048_576), Buffer.from([1]), int32(0), int32(-1)]
    const ofA = [int16(1), Buffer.from('a'), int32(2), askedPartition(1, 7n), askedPartition(0, 2n ** 60n)]
    const ofBc = [int16(2), Buffer.from('bc'), int32(1), askedPartition(2, 0n)]
    const expected = Buffer.concat([...before, int32(2), ...ofA, ...ofBc, int32(0), int16(0)])
    expect(encoded.buffer.toString('hex')).toBe(expected.toString('hex'))
    expect(encoded.size()).toBe(expected.length)
    expect({ ...request, requestTimeout }).toMatchObject({ apiKey: 1, apiVersion: 11, requestTimeout: 2_100 })
  })

  it('decodes varints of every size', () => {
    fc.assert(
      fc.property(ofEverySize(64), (value) => {
        const reader = new ByteReader(varint(value))
        expect(reader.varlong()).toBe(value)
        expect(reader.at).toBe(varint(value).length)
      }),
      { numRuns: 1_000 },
    )
    fc.assert(
      fc.property(ofEverySize(32), (value) => {
        expect(new ByteReader(varint(value)).varint()).toBe(Number(value))
      }),
      { numRuns: 1_000 },
    )
  })

  it('decodes records with any deltas, keys, values and headers, from the position on', async () => {
    await fc.assert(
      fc.asyncProperty(inLog, fc.bigInt({ min: -3n, max: 30n }), async (encoded, before) => {
        const position = (encoded[0]?.firstOffset ?? 0n) + before
        const { records } = await read(encoded, position)
        const expected = expectedRecords(encoded, position)
        expect(records).toEqual(expected)
        expect(records.map(({ headers }) => Object.keys(headers).toSorted())).toEqual(
          expected.map(({ headers }) => Object.keys(headers).toSorted()),
        )
      }),
    )
  })

  it('decodes any bytes without a throw, up to the first damaged batch', async () => {
    await fc.assert(
      fc.asyncProperty(inLog, fc.nat(), fc.nat({ max: 255 }), async (encoded, at, byte) => {
        const damaged = encodedBatches(encoded)
        damaged[4 + (at % (damaged.length - 4))] = byte
        const { records, nextOffset } = await readBytes(damaged)
        expect(records.every(({ offset }) => offset < nextOffset)).toBe(true)
      }),
    )
  })

  it('returns the error, the high watermark and the position of each partition', async () => {
    const refused = { partition: 3, errorCode: 6, highWatermark: -1n, batches: int32(0) }
    expect(await fetched(9n, encodedFetchResponse('any', [refused, { ...refused, partition: 4 }]))).toEqual([
      { topic: 'any', partition: 3, errorCode: 6, highWatermark: -1n, fetchedFrom: 9n, nextOffset: 9n, batches: [] },
    ])
  })
})

describe('fetched batches', () => {
  it('keep their range of offsets when compaction has dropped some or all records', async () => {
    const found = await read([batchOf(0n, [1, 4], { lastOffsetDelta: 9 }), batchOf(10n, [], { lastOffsetDelta: 4 })])
    expect({ offsets: offsetsOf(found), nextOffset: found.nextOffset }).toEqual({ offsets: [1n, 4n], nextOffset: 15n })
  })

  it('end before a truncated one', async () => {
    const [whole, cut] = [encodedBatches([batchOf(0n, [0])]), encodedBatches([batchOf(1n, [0])])]
    for (let bytes = 4; bytes < cut.length; bytes += 1) {
      const both = Buffer.concat([whole.subarray(4), cut.subarray(4, bytes)])
      const batches = Buffer.concat([int32(both.length), both])
      const found = await readBytes(batches)
      expect(found).toMatchObject({ nextOffset: 1n, records: [{ offset: 0n }], error: undefined })
    }
  })

  it('exclude control records and the records of aborted transactions', async () => {
    const aborted = [
      { producerId: 8n, firstOffset: 3n },
      { producerId: 7n, firstOffset: 1n },
    ]
    const batches = encodedBatches([
      batchOf(0n, [0], by(7n, 0)), // not in a transaction
      batchOf(1n, [0, 1], by(7n, IN_TRANSACTION)),
      batchOf(3n, [0], by(8n, IN_TRANSACTION)),
      batchOf(4n, [0], by(9n, IN_TRANSACTION)),
      batchOf(5n, [0], by(7n, CONTROL)),
      batchOf(6n, [0], by(7n, IN_TRANSACTION)),
      batchOf(7n, [0], by(8n, IN_TRANSACTION)),
      batchOf(8n, [0], by(8n, CONTROL)),
      batchOf(9n, [0], by(9n, CONTROL)),
    ])
    const found = await readBytes(batches, 0n, aborted)
    expect({ offsets: offsetsOf(found), nextOffset: found.nextOffset }).toEqual({
      offsets: [0n, 4n, 6n],
      nextOffset: 10n,
    })
  })

  it('have the append time of the broker if the topic is configured so', async () => {
    const found = await read([batchOf(0n, [0, 1], { attributes: APPEND_TIME, maxTimestamp: 5_000n })])
    expect(found.records.map(({ timestampMs }) => timestampMs)).toEqual([5_000, 5_000])
  })

  it.each([
    ['no time', -1n, 0],
    ['a time before any calendar', -9_000_000_000_000_000n, 0],
    ['a time after any calendar', 2n ** 62n, 0],
    ['the year 10000', 253_402_300_800_000n, 0],
    ['a time', 1_700_000_000_000n, 1_700_000_000_000],
  ])('have a time that can be formatted, although their producer wrote %s', async (_, firstTimestamp, timestampMs) => {
    const records = [recordOf(0, { timestampDelta: 0n })]
    const found = await read([{ firstOffset: 0n, firstTimestamp, records }])
    expect(found.records).toMatchObject([{ timestampMs }])
  })

  it('of thousands of aborted transactions are skipped in time that grows with their number', async () => {
    expect(await stepsOfSkipping(400)).toBeLessThanOrEqual(3 * (await stepsOfSkipping(200)))
  })

  it('return headers of any name as strings, the last of equal ones', async () => {
    const headers = [
      ['__proto__', Buffer.from('e')],
      ['__proto__', Buffer.from('é')],
      ['twice', Buffer.from('first')],
      ['twice', Buffer.from('last')],
      ['without a value', null],
      ['gone', Buffer.from('first')],
      ['gone', null],
    ] as const
    const records = [recordOf(0, { headers })]
    const found = await read([{ firstOffset: 0n, firstTimestamp: 0n, records }])
    expect(Object.entries(found.records[0]?.headers ?? {})).toEqual([
      ['__proto__', 'é'],
      ['twice', 'last'],
    ])
  })

  it.each([
    ['records that end early', batchOf(2n, [0, 1], { body: (records) => records.subarray(0, -1) })],
    [
      'a record that is longer than its fields',
      batchOf(2n, [0], { body: (records) => Buffer.concat([varint(20), records]) }),
    ],
    ['an unknown codec', batchOf(2n, [0], { attributes: 7 })],
    ['invalid gzip', batchOf(2n, [0], { attributes: 1 })],
  ])('end before a batch with %s and report the cause', async (_, damaged) => {
    const found = await read([batchOf(0n, [0, 1]), damaged, batchOf(4n, [0])])
    expect(found).toMatchObject({ nextOffset: 2n, records: [{ offset: 0n }, { offset: 1n }] })
    expect(found.error).toMatchObject({
      code: 'BATCH_UNDECODABLE',
      message: expect.stringMatching(/offsets? 2( to 3)? of any\/3/),
    })
  })

  it.each([
    ['of an older format', (batch: Buffer) => batch.fill(1, 4 + 16, 4 + 17)],
    ['without a header', (batch: Buffer) => batch.fill(0, 4 + 8, 4 + 12)],
    ['that is truncated', (batch: Buffer) => Buffer.concat([int32(batch.length - 5), batch.subarray(4, -1)])],
  ])('are undecodable if the first is one %s', async (_, damage) => {
    const batches = damage(encodedBatches([batchOf(0n, [0])]))
    expect(await readBytes(batches)).toMatchObject({
      nextOffset: 0n,
      records: [],
      error: { code: 'BATCH_UNDECODABLE' },
    })
  })
})

import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { EncodedBatch } from '../../test/encoded-batch.ts'
import { givenFetched, readFetched } from '../../test/read-fetched.ts'
import { fetchedBatches } from './fetched-batch.ts'

const [GZIP, ZSTD, NO_CODEC] = [1, 4, 7]
const MIB = 1024 * 1024

interface Fields extends Partial<EncodedBatch> {
  readonly value?: string | Buffer
}

/** A batch with a record at each of these offsets. */
function batchAt(offsets: readonly bigint[], { value = '', ...fields }: Fields = {}): EncodedBatch {
  const firstOffset = offsets[0] ?? 0n
  const records = offsets.map((offset) => {
    const offsetDelta = Number(offset - firstOffset)
    return { offsetDelta, timestampDelta: 0n, key: Buffer.from('key'), value: Buffer.from(value), headers: [] }
  })
  return { firstOffset, firstTimestamp: 1_000n, maxTimestamp: 2_000n, records, ...fields }
}

function offsetsFrom(from: bigint, count: number): readonly bigint[] {
  return Array.from({ length: count }, (_, index) => from + BigInt(index))
}

/** A record that takes hardly any bytes in a compressed batch, and this many once it is decompressed. */
const inflated = (bytes: number): Fields => ({
  attributes: ZSTD,
  value: Buffer.alloc(bytes, ' '),
  body: (records) => zstdCompressSync(records),
})

const offsetsOf = (records: readonly { readonly offset: bigint }[]) => records.map(({ offset }) => offset)

describe('fetched batches', () => {
  it('cover the gaps before, between and after the records', async () => {
    const fetched = givenFetched([batchAt([12n, 13n]), batchAt([17n, 18n, 20n], { lastOffsetDelta: 6 })], 10n)
    expect((await readFetched(fetched, { maxRecords: 2 })).batches).toMatchObject([
      { fetchedFrom: 10n, nextOffset: 14n, records: [{ offset: 12n }, { offset: 13n }] },
      { fetchedFrom: 14n, nextOffset: 19n, records: [{ offset: 17n }, { offset: 18n }] },
      { fetchedFrom: 19n, nextOffset: 24n, records: [{ offset: 20n }] },
    ])
  })

  it('are one empty batch for control records only, and no batch for an empty fetch', async () => {
    const CONTROL = 1 << 5
    const { batches } = await readFetched(givenFetched([batchAt([10n, 11n], { attributes: CONTROL })], 10n))
    expect(batches).toMatchObject([{ fetchedFrom: 10n, nextOffset: 12n, records: [] }])
    expect((await readFetched(givenFetched([], 10n))).batches).toEqual([])
  })

  it('join short batches of the log, and end before one that does not fit', async () => {
    const log = [batchAt(offsetsFrom(0n, 3)), batchAt(offsetsFrom(3n, 3)), batchAt(offsetsFrom(6n, 3)), batchAt([9n])]
    const { batches } = await readFetched(givenFetched(log), { maxRecords: 8 })
    expect(batches.map(({ records }) => offsetsOf(records))).toEqual([offsetsFrom(0n, 6), offsetsFrom(6n, 4)])
    const long = [0n, 1n, 2n].map((offset) => batchAt([offset], { value: 'x'.repeat(100) }))
    const byBytes = await readFetched(givenFetched(long), { maxBytes: 250 })
    expect(byBytes.batches.map(({ records }) => offsetsOf(records))).toEqual([[0n, 1n], [2n]])
  })

  it.each([
    ['uncompressed', {}],
    ['compressed', { attributes: GZIP, body: gzipSync }],
  ])('split a long %s batch of the log in bytes and in records, and begin within it', async (_, fields) => {
    const fetched = givenFetched([batchAt(offsetsFrom(0n, 10), { value: 'x'.repeat(100), ...fields })], 3n)
    for (const bounds of [{ maxRecords: 3 }, { maxBytes: 350 }]) {
      const { batches } = await readFetched(fetched, bounds)
      expect(batches.map(({ records }) => offsetsOf(records))).toEqual([offsetsFrom(3n, 3), offsetsFrom(6n, 3), [9n]])
      expect(batches.map(({ fetchedFrom, nextOffset }) => [fetchedFrom, nextOffset])).toEqual([
        [3n, 6n],
        [6n, 9n],
        [9n, 10n],
      ])
    }
  })

  it('are decoded one by one, when the previous one was handled', async () => {
    const batch = batchAt(offsetsFrom(0n, 4_000), {
      value: 'x'.repeat(1_000),
      attributes: ZSTD,
      body: (of) => zstdCompressSync(of),
    })
    const parts = fetchedBatches(givenFetched([batch]), {
      bounds: { maxRecords: 1_000, maxBytes: MIB },
      withStandIns: false,
    })
    for await (const { records } of parts) {
      // The records do not keep the four megabytes of the whole batch in memory.
      for (const { value } of records) expect(value?.buffer.byteLength).toBeLessThan(MIB)
    }
  })

  it('end before an undecodable batch, and throw', async () => {
    const damaged = batchAt([12n, 13n], { body: (records) => records.subarray(0, -1) })
    const { records, nextOffset, error } = await readFetched(givenFetched([batchAt([10n, 11n]), damaged], 10n))
    expect({ offsets: offsetsOf(records), nextOffset }).toEqual({ offsets: [10n, 11n], nextOffset: 12n })
    expect(error).toMatchObject({
      code: 'BATCH_UNDECODABLE',
      message: 'The batch at offsets 12 to 13 of any/3 cannot be decoded: The bytes end early',
    })
  })

  it('contain no record of a batch whose later records cannot be decoded', async () => {
    const damaged = batchAt(offsetsFrom(0n, 10), { body: (records) => records.subarray(0, -1) })
    const { records, error } = await readFetched(givenFetched([damaged]), { maxRecords: 3 })
    expect(records).toEqual([])
    expect(error).toMatchObject({ code: 'BATCH_UNDECODABLE' })
  })
})

describe('a record that stands in for an undecodable batch', () => {
  const damaged = batchAt(offsetsFrom(2n, 5), { body: (records) => records.subarray(0, -1) })
  const log = [batchAt([0n, 1n]), damaged, batchAt([7n])]

  it('has the first offset of the batch, and the records after it follow', async () => {
    const { records, nextOffset, error } = await readFetched(givenFetched(log), { withStandIns: true })
    expect({ offsets: offsetsOf(records), nextOffset, error }).toEqual({
      offsets: [0n, 1n, 2n, 7n],
      nextOffset: 8n,
      error: undefined,
    })
    expect(records[2]).toMatchObject({
      timestampMs: 2_000,
      key: null,
      value: Buffer.alloc(0),
      headers: { 'omitted-offsets': '2-6', 'omitted-records': '5' },
      undecodable: { lastOffset: 6n, error: { code: 'BATCH_UNDECODABLE' } },
    })
  })

  it('has the offset of the fetch if that is within the batch', async () => {
    const { records } = await readFetched(givenFetched(log, 4n), { withStandIns: true })
    expect(records).toMatchObject([{ offset: 4n, headers: { 'omitted-offsets': '4-6' } }, { offset: 7n }])
  })

  it('counts as a record, so that thousands of them do not follow each other in one batch', async () => {
    const many = offsetsFrom(0n, 5).map((offset) => batchAt([offset], { attributes: NO_CODEC }))
    const { batches } = await readFetched(givenFetched(many), { withStandIns: true, maxRecords: 2 })
    expect(batches.map(({ records }) => offsetsOf(records))).toEqual([[0n, 1n], [2n, 3n], [4n]])
  })

  it.each([
    ['more than 16 MiB', batchAt([0n], inflated(17 * MIB)), 'it has more than 16777216 bytes once it is decompressed'],
    [
      'more than 100,000 records',
      batchAt([], { lastOffsetDelta: 100_000, records: Array.from({ length: 100_001 }, emptyRecord) }),
      'it has 100001 records; the maximum is 100000',
    ],
  ])('stands for a batch of %s', async (_, tooLarge, because) => {
    const { records } = await readFetched(givenFetched([tooLarge]), { withStandIns: true })
    expect(records).toMatchObject([
      { offset: 0n, undecodable: { error: { message: expect.stringContaining(because) } } },
    ])
  })

  it('never stands for a batch whose last offset cannot be right: the records after it are not passed', async () => {
    for (const lastOffsetDelta of [-1, 1, 4, 5, 2 ** 31 - 1]) {
      const wrong = batchAt([1n], { lastOffsetDelta, isIntact: false, body: () => Buffer.alloc(0) })
      const fetched = givenFetched([batchAt([0n]), wrong], 0n, { highWatermark: 6n })
      const { records, nextOffset, error } = await readFetched(fetched, { withStandIns: true })
      expect(offsetsOf(records)).toEqual([0n])
      expect({ nextOffset, error }).toMatchObject({ nextOffset: 1n, error: { code: 'BATCH_UNDECODABLE' } })
    }
  })

  it.each([
    ['later', 9n],
    ['earlier', 0n],
  ])('never stands for a batch whose first offset is damaged to a %s one: no record is passed', async (_, wrong) => {
    const misplaced = { ...batchAt([4n, 5n]), firstOffset: wrong }
    const written = [batchAt([2n, 3n]), misplaced, batchAt([6n, 7n])]
    const { batches, records, error } = await readFetched(givenFetched(written, 2n, { highWatermark: 20n }))
    expect(offsetsOf(records).every((offset) => offset < 4n)).toBe(true)
    expect({ batches, error }).toMatchObject({ error: { code: 'BATCH_UNDECODABLE' } })
    expect(batches.at(-1)?.nextOffset ?? 2n).toBeLessThanOrEqual(4n)
  })

  it('never stands for a batch without offsets, at which reading would not continue', async () => {
    const { batches, error } = await readFetched(givenFetched([batchAt([], { lastOffsetDelta: -1 })]))
    expect({ batches, error }).toMatchObject({ batches: [], error: { code: 'BATCH_UNDECODABLE' } })
  })

  it('never stands for a batch after a gap at the end of the log, although its checksum matches', async () => {
    const wrong = batchAt([7n])
    const { nextOffset, error } = await readFetched(givenFetched([batchAt([0n]), wrong], 0n, { highWatermark: 6n }))
    expect({ nextOffset, error }).toMatchObject({ nextOffset: 1n, error: { code: 'BATCH_UNDECODABLE' } })
  })
})

it('batches that were replicated after the broker had read the high watermark are read', async () => {
  const written = [batchAt([0n, 1n]), batchAt([2n, 3n]), batchAt([4n, 5n])]
  for (const highWatermark of [2n, 3n, 4n, 5n]) {
    const { records, error } = await readFetched(givenFetched(written, 0n, { highWatermark }))
    expect({ offsets: offsetsOf(records), error }).toEqual({ offsets: [0n, 1n, 2n, 3n, 4n, 5n], error: undefined })
  }
})

function emptyRecord(_: unknown, offsetDelta: number) {
  return { offsetDelta, timestampDelta: 0n, key: null, value: null, headers: [] }
}

describe('a record of more than 1 MiB', () => {
  it('has no content, but its key, size and hash, and the others of its batch are read', async () => {
    const { records: long, ...rest } = batchAt([0n], inflated(3 * MIB))
    const records = [emptyRecord(0, 0), ...long.map((record) => ({ ...record, offsetDelta: 1 })), emptyRecord(0, 2)]
    const { records: read } = await readFetched(givenFetched([{ ...rest, records }]))
    expect(read).toMatchObject([
      { offset: 0n, value: null },
      {
        offset: 1n,
        key: Buffer.from('key'),
        value: Buffer.alloc(0),
        headers: {
          'omitted-because': 'the record is larger than 1048576 bytes',
          'omitted-bytes': expect.stringMatching(/^31457\d\d$/),
          'omitted-sha256': expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
      { offset: 2n, value: null },
    ])
    expect(read[1]).not.toHaveProperty('undecodable')
  })
})

const headersOf = (count: number) => Array.from({ length: count }, (_, index) => [`${index}`, Buffer.from('')] as const)

it('a record of more than 50 headers has no content: as members of an object they take a multiple of their bytes', async () => {
  const records = [50, 51].map((count, offsetDelta) => ({ ...emptyRecord(0, offsetDelta), headers: headersOf(count) }))
  const { records: read } = await readFetched(givenFetched([batchAt([], { records })]))
  expect(read.map(({ headers }) => Object.keys(headers).length)).toEqual([50, 3])
  expect(read[1]?.headers).toMatchObject({ 'omitted-because': 'the record has 51 headers; the maximum is 50' })
})

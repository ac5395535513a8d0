import { describe, expect, it } from 'vitest'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import { toFetchedBatches } from './fetched-batch.ts'

function partitionOf(fetchedFrom: bigint, offsets: readonly bigint[], nextOffset: bigint): FetchedPartition {
  const of = { topic: 'any', partition: 3 }
  const records = offsets.map((offset) => ({ ...of, offset, timestampMs: 0, key: null, value: null, headers: {} }))
  return { ...of, errorCode: 0, highWatermark: 100n, fetchedFrom, nextOffset, records }
}

describe('toFetchedBatches', () => {
  it('covers the gaps before, between and after the records', () => {
    const fetched = partitionOf(10n, [12n, 13n, 17n, 18n, 20n], 24n)
    expect(toFetchedBatches(fetched, 2)).toMatchObject([
      { fetchedFrom: 10n, nextOffset: 17n, records: [{ offset: 12n }, { offset: 13n }] },
      { fetchedFrom: 17n, nextOffset: 20n, records: [{ offset: 17n }, { offset: 18n }] },
      { fetchedFrom: 20n, nextOffset: 24n, records: [{ offset: 20n }] },
    ])
  })

  it('returns one empty batch for control records only, and no batch for an empty fetch', () => {
    expect(toFetchedBatches(partitionOf(10n, [], 12n), 2)).toEqual([
      { topic: 'any', partition: 3, fetchedFrom: 10n, nextOffset: 12n, highWatermark: 100n, records: [] },
    ])
    expect(toFetchedBatches(partitionOf(10n, [], 10n), 2)).toEqual([])
  })

  it('ends before undecodable records, and throws if these come first', () => {
    const undecodable = new RangeError('ends early')
    const fetched = { ...partitionOf(10n, [10n, 11n], 12n), undecodable }
    expect(toFetchedBatches(fetched, 10)).toMatchObject([{ fetchedFrom: 10n, nextOffset: 12n, records: [{}, {}] }])
    expect(() => toFetchedBatches({ ...partitionOf(12n, [], 12n), undecodable }, 10)).toThrow(
      expect.objectContaining({ code: 'BATCH_UNDECODABLE', message: expect.stringContaining('offset 12 of any/3') }),
    )
  })
})

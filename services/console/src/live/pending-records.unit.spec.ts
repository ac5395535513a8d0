import type { FetchedRecord } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { createPendingRecords } from './pending-records.ts'

const recordAt = (partition: number, offset: number, bytes = 1): FetchedRecord => ({
  topic: 'user-events',
  partition,
  offset: BigInt(offset),
  timestampMs: 0,
  key: null,
  value: Buffer.alloc(bytes),
  headers: {},
})
const records = (partition: number, from: number, to: number, bytes?: number) =>
  Array.from({ length: to - from }, (_, nth) => recordAt(partition, from + nth, bytes))
const offsetsIn = (taken: { readonly records: readonly FetchedRecord[] }) =>
  taken.records.map(({ partition, offset }) => `${partition}/${offset}`)

describe('records waiting to be folded', () => {
  it('come out once when the checkpoints have passed them', () => {
    const pending = createPendingRecords({ maxRecords: 100, maxBytes: 100 })
    pending.add(0, records(0, 5, 8))
    pending.add(1, records(1, 0, 2))
    expect(offsetsIn(pending.take(new Map([[0, 7n]])))).toEqual(['0/5', '0/6'])
    const all = new Map([
      [0, 100n],
      [1, 1n],
    ])
    expect(offsetsIn(pending.take(all))).toEqual(['0/7', '1/0'])
    expect(offsetsIn(pending.take(new Map([[1, 9n]])))).toEqual(['1/1'])
    expect(pending.take(all)).toEqual({ records: [], dropped: 0 })
  })

  it('keep neither the bytes of their fetch nor their key in memory', () => {
    const fetched = Buffer.alloc(100_000, 'x')
    const pending = createPendingRecords({ maxRecords: 100, maxBytes: 1_000 })
    pending.add(0, [{ ...recordAt(0, 0), key: fetched.subarray(0, 90_000), value: fetched.subarray(90_000, 90_010) }])
    const [kept] = pending.take(new Map([[0, 100n]])).records
    expect(kept).toMatchObject({ key: null, value: Buffer.from('xxxxxxxxxx') })
    expect(kept?.value?.buffer.byteLength).toBe(10)
  })

  it('stay in a partition without an owner', () => {
    const pending = createPendingRecords({ maxRecords: 100, maxBytes: 100 })
    pending.add(0, records(0, 0, 1))
    expect(pending.take(new Map([[1, 9n]])).records).toEqual([])
  })

  it.each([
    ['records', { maxRecords: 3, maxBytes: 1_000 }],
    ['bytes', { maxRecords: 1_000, maxBytes: 30 }],
  ])('are bounded in %s: the oldest are dropped, and counted once', (_, bounds) => {
    const pending = createPendingRecords(bounds)
    pending.add(0, records(0, 0, 5, 10))
    const upTo = new Map([[0, 100n]])
    expect(pending.take(new Map())).toMatchObject({ dropped: 2 })
    pending.add(0, records(0, 5, 6, 10))
    const taken = pending.take(upTo)
    expect(offsetsIn(taken)).toEqual(['0/3', '0/4', '0/5'])
    expect(taken.dropped).toBe(1)
    pending.add(0, records(0, 6, 9, 10))
    expect(pending.take(upTo)).toMatchObject({ dropped: 0 })
  })

  it.each([
    ['records', { maxRecords: 10, maxBytes: 1_000 }],
    ['bytes', { maxRecords: 1_000, maxBytes: 100 }],
  ])('of a halted partition are dropped before the records of other partitions, bounded in %s', (_, bounds) => {
    const pending = createPendingRecords(bounds)
    pending.add(0, records(0, 0, 20, 10))
    pending.take(new Map())
    const healthy = new Map([[1, 100n]])
    pending.add(1, records(1, 0, 3, 10))
    expect(offsetsIn(pending.take(healthy))).toEqual(['1/0', '1/1', '1/2'])
    pending.add(1, records(1, 3, 6, 10))
    const taken = pending.take(new Map([...healthy, [0, 100n]]))
    expect(offsetsIn(taken)).toEqual(['0/13', '0/14', '0/15', '0/16', '0/17', '0/18', '0/19', '1/3', '1/4', '1/5'])
    expect(taken.dropped).toBe(0)
  })
})

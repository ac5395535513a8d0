import type { OwnedPartition } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { foldedUpTo, orLast } from './folded-up-to.ts'

const owned = (partition: number, nextOffset: number, own: Partial<OwnedPartition> = {}): OwnedPartition => ({
  topic: 'user-events',
  partition,
  nextOffset: String(nextOffset),
  lagRecords: 0,
  lagSeconds: 0,
  alarms: [],
  ...own,
})

describe('how far the log is folded', () => {
  it('is as far as the consumer that is furthest behind, partition by partition', () => {
    const { offsets, furthest } = foldedUpTo([
      { service: 'metering', partitions: [owned(0, 10), owned(1, 5)] },
      { service: 'user-projector', partitions: [owned(0, 7, { lagRecords: 3, lagSeconds: 2 }), owned(1, 9)] },
    ])
    expect([...offsets]).toEqual([
      [0, 7n],
      [1, 5n],
    ])
    expect(furthest).toEqual({ service: 'user-projector', records: 3, seconds: 2 })
  })

  it('is not known where a consumer has no owner, nor while none of its processes answers', () => {
    const metering = { service: 'metering', partitions: [owned(0, 10), owned(1, 5)] }
    const projector = { service: 'user-projector', partitions: [owned(1, 5)] }
    expect([...foldedUpTo([metering, projector]).offsets.keys()]).toEqual([1])
    const silent = foldedUpTo([metering, { service: 'user-projector', partitions: undefined }])
    expect(silent).toMatchObject({ silent: ['user-projector'], offsets: new Map(), furthest: null })
  })

  it('is what a silent consumer had folded when it last answered', () => {
    const metering = { service: 'metering', partitions: [owned(0, 10)] }
    const projector = { service: 'user-projector', partitions: [owned(0, 7)] }
    const silent = [metering, { service: 'user-projector', partitions: undefined }]
    const last = orLast(silent, [{ service: 'metering', partitions: [owned(0, 6)] }, projector])
    expect(foldedUpTo(silent, last)).toMatchObject({ silent: ['user-projector'], offsets: new Map([[0, 7n]]) })
  })

  it('takes the later checkpoint of two processes that name a partition, and no other topic', () => {
    const partitions = [owned(0, 10), owned(0, 12), owned(0, 99, { topic: 'other' })]
    expect([...foldedUpTo([{ service: 'metering', partitions }]).offsets]).toEqual([[0, 12n]])
  })
})

import type { PartitionStatus } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { type ConsumerProgress, foldedUpTo, orLast } from './folded-up-to.ts'

const owned = (partition: number, nextOffset: number, own: Partial<PartitionStatus> = {}): PartitionStatus => ({
  topic: 'user-events',
  partition,
  nextOffset: String(nextOffset),
  lagRecords: 0,
  lagSeconds: 0,
  alarms: [],
  ...own,
})

/** A consumer of so many processes, and what those that answer own. */
const saying = (
  service: string,
  partitions: readonly PartitionStatus[],
  { processes = 1, silent = 0 } = {},
): ConsumerProgress => ({ service, processes, silent, partitions })
const silentOne = saying('user-projector', [], { silent: 1 })

describe('how far the log is folded', () => {
  it('is as far as the consumer that is furthest behind, partition by partition', () => {
    const { offsets, furthest } = foldedUpTo([
      saying('metering', [owned(0, 10), owned(1, 5)]),
      saying('user-projector', [owned(0, 7, { lagRecords: 3, lagSeconds: 2 }), owned(1, 9)]),
    ])
    expect([...offsets]).toEqual([
      [0, 7n],
      [1, 5n],
    ])
    expect(furthest).toEqual({ service: 'user-projector', records: 3, seconds: 2 })
  })

  it('is not known where a consumer has no owner, nor while none of its processes answers', () => {
    const metering = saying('metering', [owned(0, 10), owned(1, 5)])
    expect([...foldedUpTo([metering, saying('user-projector', [owned(1, 5)])]).offsets.keys()]).toEqual([1])
    expect(foldedUpTo([metering, silentOne])).toEqual({
      silent: [{ service: 'user-projector', processes: 1, silent: 1 }],
      offsets: new Map(),
      furthest: null,
    })
  })

  it('is what a silent consumer had folded when it last answered', () => {
    const said = [saying('metering', [owned(0, 10)]), silentOne]
    const last = orLast(said, [saying('metering', [owned(0, 6)]), saying('user-projector', [owned(0, 7)])])
    expect(foldedUpTo(said, last).offsets).toEqual(new Map([[0, 7n]]))
  })

  it('is what a silent process had folded, of one that hangs beside another, until that one has taken over', () => {
    const before = orLast([saying('metering', [owned(0, 3), owned(1, 5)], { processes: 2 })], [])
    const said = [saying('metering', [owned(1, 8)], { processes: 2, silent: 1 })]
    const last = orLast(said, before)
    expect(foldedUpTo(said, last)).toMatchObject({
      silent: [{ service: 'metering', processes: 2, silent: 1 }],
      offsets: new Map([
        [1, 8n],
        [0, 3n],
      ]),
    })
    const takenOver = [saying('metering', [owned(0, 4), owned(1, 9)], { processes: 2, silent: 1 })]
    expect(foldedUpTo(takenOver, orLast(takenOver, last)).offsets).toEqual(
      new Map([
        [0, 4n],
        [1, 9n],
      ]),
    )
  })

  it('takes the later checkpoint of two processes that name a partition, and no other topic', () => {
    const partitions = [owned(0, 10), owned(0, 12), owned(0, 99, { topic: 'other' })]
    expect([...foldedUpTo([saying('metering', partitions)]).offsets]).toEqual([[0, 12n]])
  })
})

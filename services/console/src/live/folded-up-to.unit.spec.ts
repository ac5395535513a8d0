import type { PartitionStatus } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { type ConsumerProgress, foldedUpTo, withLastReports } from './folded-up-to.ts'

const owned = (partition: number, nextOffset: number, own: Partial<PartitionStatus> = {}): PartitionStatus => ({
  topic: 'user-events',
  partition,
  nextOffset: String(nextOffset),
  lagRecords: 0,
  lagSeconds: 0,
  alarms: [],
  ...own,
})

/** Creates a consumer with this number of processes, and the partitions of those that answer. */
const givenProgress = (
  service: string,
  partitions: readonly PartitionStatus[],
  { processes = 1, silent = 0 } = {},
): ConsumerProgress => ({ service, processes, silent, partitions })
const silentOne = givenProgress('user-projector', [], { silent: 1 })

describe('the folded part of the log', () => {
  it('ends at the checkpoint of the slowest consumer in each partition', () => {
    const { offsets, furthest } = foldedUpTo([
      givenProgress('metering', [owned(0, 10), owned(1, 5)]),
      givenProgress('user-projector', [owned(0, 7, { lagRecords: 3, lagSeconds: 2 }), owned(1, 9)]),
    ])
    expect([...offsets]).toEqual([
      [0, 7n],
      [1, 5n],
    ])
    expect(furthest).toEqual({ service: 'user-projector', records: 3, seconds: 2 })
  })

  it('is unknown for partitions without an owner, and while no process of a consumer answers', () => {
    const metering = givenProgress('metering', [owned(0, 10), owned(1, 5)])
    expect([...foldedUpTo([metering, givenProgress('user-projector', [owned(1, 5)])]).offsets.keys()]).toEqual([1])
    expect(foldedUpTo([metering, silentOne])).toEqual({
      silent: [{ service: 'user-projector', processes: 1, silent: 1 }],
      offsets: new Map(),
      furthest: null,
    })
  })

  it('includes records that a silent consumer had folded at its last answer', () => {
    const reports = [givenProgress('metering', [owned(0, 10)]), silentOne]
    const last = withLastReports(reports, [
      givenProgress('metering', [owned(0, 6)]),
      givenProgress('user-projector', [owned(0, 7)]),
    ])
    expect(foldedUpTo(reports, last).offsets).toEqual(new Map([[0, 7n]]))
  })

  it('includes records that a hanging process had folded, until another process has taken over', () => {
    const before = withLastReports([givenProgress('metering', [owned(0, 3), owned(1, 5)], { processes: 2 })], [])
    const reports = [givenProgress('metering', [owned(1, 8)], { processes: 2, silent: 1 })]
    const last = withLastReports(reports, before)
    expect(foldedUpTo(reports, last)).toMatchObject({
      silent: [{ service: 'metering', processes: 2, silent: 1 }],
      offsets: new Map([
        [1, 8n],
        [0, 3n],
      ]),
    })
    const takenOver = [givenProgress('metering', [owned(0, 4), owned(1, 9)], { processes: 2, silent: 1 })]
    expect(foldedUpTo(takenOver, withLastReports(takenOver, last)).offsets).toEqual(
      new Map([
        [0, 4n],
        [1, 9n],
      ]),
    )
  })

  it('uses the later checkpoint of two processes that report a partition, and ignores other topics', () => {
    const partitions = [owned(0, 10), owned(0, 12), owned(0, 99, { topic: 'other' })]
    expect([...foldedUpTo([givenProgress('metering', partitions)]).offsets]).toEqual([[0, 12n]])
  })
})

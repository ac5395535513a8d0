import { describe, expect, it } from 'vitest'
import { lagOf } from './lag.ts'

const NOW = Date.parse('2026-11-02T10:00:00.000Z')

function log(...ends: readonly bigint[]) {
  const partitions = new Map(ends.map((high, partition) => [partition, { low: 0n, high }]))
  return new Map([
    ['user-events', partitions],
    ['form-events', new Map([[0, { low: 0n, high: 99n }]])],
  ])
}

function checkpoint(partition: number, nextOffset: bigint, secondsAgo?: number) {
  const recordTimeMs = secondsAgo === undefined ? undefined : NOW - secondsAgo * 1_000
  return { topic: 'user-events', partition, nextOffset, recordTimeMs }
}

describe('the lag of a consumer', () => {
  it('is zero at the end of the log, regardless of the age of the last record', () => {
    expect(lagOf([checkpoint(0, 7n, 3_600), checkpoint(1, 0n)], log(7n, 0n), NOW)).toEqual({ records: 0, seconds: 0 })
  })

  it('is the records of all partitions and the seconds of the partition that lags most', () => {
    const checkpoints = [checkpoint(0, 4n, 10), checkpoint(1, 5n, 60), checkpoint(2, 8n, 900)]
    expect(lagOf(checkpoints, log(7n, 6n, 8n), NOW)).toEqual({ records: 4, seconds: 60 })
  })

  it('counts a partition that was never read from its beginning', () => {
    expect(lagOf([checkpoint(0, 7n, 10)], log(7n, 6n), NOW)).toEqual({ records: 6, seconds: null })
  })

  it('ignores topics that the consumer does not follow', () => {
    expect(lagOf([], log(7n), NOW)).toEqual({ records: 0, seconds: 0 })
  })
})

import { describe, expect, it } from 'vitest'
import { createDelays } from './delays.ts'

const offsets = (...ends: readonly number[]) => new Map(ends.map((end, partition) => [partition, BigInt(end)]))

describe('the delay of a consumer', () => {
  it('is the age of the oldest end of the log that it has not reached in every partition', () => {
    const delays = createDelays()
    delays.noteEnds(offsets(10, 10), 0)
    delays.noteEnds(offsets(20, 10), 100)
    delays.noteEnds(offsets(20, 30), 200)
    expect(delays.delayMs('metering', offsets(9, 10), 250)).toBe(250)
    expect(delays.delayMs('metering', offsets(15, 10), 250)).toBe(150)
    expect(delays.delayMs('metering', offsets(20, 29), 250)).toBe(50)
    expect(delays.delayMs('metering', offsets(20, 30), 250)).toBe(0)
  })

  it('begins with the oldest end, however many follow', () => {
    const delays = createDelays()
    for (let atMs = 0; atMs <= 1_000; atMs += 100) {
      delays.noteEnds(offsets(atMs + 1), atMs)
      expect(delays.delayMs('metering', offsets(1), atMs)).toBe(atMs === 0 ? 0 : atMs - 100)
      expect(delays.delayMs('trait-registry', offsets(0), atMs)).toBe(atMs)
    }
  })

  it('compares a bounded number of ends, however long a consumer is halted', () => {
    const delays = createDelays()
    for (let atMs = 0; atMs < 5_000; atMs += 1) {
      delays.noteEnds(offsets(atMs + 1), atMs)
      expect(delays.delayMs('metering', offsets(0), atMs)).toBe(atMs)
    }
    let comparisons = 0
    class Checkpoints extends Map<number, bigint> {
      override get(): bigint {
        comparisons += 1
        return 5_000n
      }
    }
    expect(delays.delayMs('trait-registry', new Checkpoints(), 5_000)).toBe(0)
    expect(comparisons).toBeLessThanOrEqual(1_000)
    expect(delays.delayMs('trait-registry', offsets(4_999), 5_000)).toBe(1)
  })

  it('counts a partition that was never folded', () => {
    const delays = createDelays()
    delays.noteEnds(offsets(0, 1), 0)
    expect(delays.delayMs('metering', offsets(0), 70)).toBe(70)
  })
})

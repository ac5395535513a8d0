import { setImmediate } from 'node:timers/promises'
import type { FetchedBatch } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { createLinger } from './linger.ts'

function batchOf(records: number, { behind = 0 } = {}): FetchedBatch {
  const nextOffset = BigInt(records)
  return {
    topic: 'any',
    partition: 0,
    fetchedFrom: 0n,
    nextOffset,
    highWatermark: nextOffset + BigInt(behind),
    records: Array.from({ length: records }, (_, offset) => ({
      offset: BigInt(offset),
    })) as unknown as FetchedBatch['records'],
  }
}

/** Whether the fold of this batch waits. */
function waits(linger: ReturnType<typeof createLinger>, batch: FetchedBatch): Promise<boolean> {
  return Promise.race([linger(batch).then(() => false), setImmediate(true)])
}

describe('lingering', () => {
  it('is for a few records at the end of the log, not for many and not in a backlog', async () => {
    const stopping = new AbortController()
    const linger = createLinger(600_000, stopping.signal)
    expect(await waits(linger, batchOf(100))).toBe(false)
    expect(await waits(linger, batchOf(99, { behind: 1 }))).toBe(false)
    const waiting = linger(batchOf(99))
    expect(await waits(linger, batchOf(99))).toBe(true)
    stopping.abort()
    await waiting
  })

  it('is only for the first batch of a fetch', async () => {
    const linger = createLinger(1_000, new AbortController().signal)
    await linger(batchOf(1))
    expect(await waits(linger, batchOf(1))).toBe(false)
  })
})

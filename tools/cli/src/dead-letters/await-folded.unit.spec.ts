import { describe, expect, it } from 'vitest'
import { awaitFolded } from './await-folded.ts'

const NONE = { retry: 0, retried: 0, dead: 0, discarded: 0 }

function awaited(counts: readonly number[]) {
  const left = [...counts]
  const told: number[] = []
  const states = awaitFolded({
    readCounts: async () => ({ ...NONE, retry: left.length > 1 ? (left.shift() as number) : (left[0] ?? 0) }),
    onWaiting: (waiting) => told.push(waiting),
    stalledAfterMs: 5,
    pollEveryMs: 2,
  })
  return { states, told }
}

describe('waiting for letters to be folded', () => {
  it('continues while their number falls', async () => {
    const { states, told } = awaited([40, 35, 30, 25, 20, 15, 10, 5, 0])
    expect(await states).toEqual(NONE)
    expect(told).toEqual([40, 35, 30, 25, 20, 15, 10, 5])
  })

  it('ends when their number no longer falls', async () => {
    expect(await awaited([40, 20, 20]).states).toEqual({ ...NONE, retry: 20 })
  })
})

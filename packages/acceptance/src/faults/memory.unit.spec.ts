import { describe, expect, it } from 'vitest'
import { growthsOf } from './memory.ts'

const TOOK_MS = 20_000
const every500ms = (process: string, bytesAt: (sinceMs: number) => number, from = 0, to = TOOK_MS) =>
  Array.from({ length: (to - from) / 500 }, (_, index) => from + index * 500).map((sinceMs) => ({
    process,
    sinceMs,
    bytes: bytesAt(sinceMs),
  }))

describe('growthsOf', () => {
  it('sees nothing in garbage that comes and goes, nor in the warm-up', () => {
    const sawtooth = every500ms('gateway 1', (sinceMs) => Math.min(sinceMs, 5_000) + (sinceMs % 3_000))
    expect(growthsOf(sawtooth, TOOK_MS)).toEqual([0])
  })

  it('sees what piles up', () => {
    const [growth = 0] = growthsOf(
      every500ms('gateway 1', (sinceMs) => 2_000 * sinceMs + (sinceMs % 3_000)),
      TOOK_MS,
    )
    expect(growth).toBeGreaterThan(15_000_000)
  })

  it('takes a process that came anew for no growth of the one before', () => {
    const old = every500ms('metering 1', () => 100, 0, 10_000)
    const anew = every500ms('metering 2', (sinceMs) => sinceMs, 12_000)
    expect(growthsOf([...old, ...anew], TOOK_MS)).toEqual([])
  })
})

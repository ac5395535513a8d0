import { describe, expect, it } from 'vitest'
import { growthMb } from './memory.ts'

const MB = 2 ** 20

describe('growthMb', () => {
  it('is the growth of the service that grew most', () => {
    const before = new Map([
      [1, 30 * MB],
      [2, 20 * MB],
    ])
    const after = new Map([
      [1, 71 * MB],
      [2, 19 * MB],
    ])
    expect(growthMb(before, after, 2)).toBe(41)
    expect(growthMb(after, before, 2), 'a service that shrinks does not count').toBe(1)
  })

  it('is unknown if a service did not answer or was restarted', () => {
    const before = new Map([
      [1, 30 * MB],
      [2, 1 * MB],
    ])
    expect(growthMb(before, new Map([[1, 30 * MB]]), 2)).toBeUndefined()
    expect(growthMb(before, new Map([...before].with(1, [3, 60 * MB])), 2)).toBeUndefined()
  })
})

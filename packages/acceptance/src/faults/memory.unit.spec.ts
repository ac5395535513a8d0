import { describe, expect, it } from 'vitest'
import { growthMb } from './memory.ts'

const MB = 2 ** 20

describe('growthMb', () => {
  it('is that of the service that grew most', () => {
    const before = new Map([
      ['gateway 1', 30 * MB],
      ['metering 2', 20 * MB],
    ])
    const after = new Map([
      ['gateway 1', 71 * MB],
      ['metering 2', 19 * MB],
    ])
    expect(growthMb(before, after)).toBe(41)
    expect(growthMb(after, before), 'who gives back does not grow').toBe(1)
  })

  it('takes a process that came anew for no growth of the one before', () => {
    expect(growthMb(new Map([['metering 1', 1 * MB]]), new Map([['metering 2', 60 * MB]]))).toBeUndefined()
  })
})

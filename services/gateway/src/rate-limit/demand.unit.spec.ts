import { describe, expect, it } from 'vitest'
import { createDemand } from './demand.ts'

/** Asks after so many requests within so many milliseconds, again and again. */
function ask(rounds: readonly (readonly [requests: number, ms: number])[], atHand = 0) {
  const demand = createDemand()
  let nowMs = 0
  return rounds.map(([requests, ms]) => {
    nowMs += ms
    for (let i = 0; i < requests; i += 1) demand.count()
    return demand.extra(nowMs, atHand)
  })
}

describe('what a gateway leases in advance', () => {
  it('is nothing for a key that comes now and then', () => {
    const hourly: readonly [number, number] = [1, 3_600_000]
    expect(ask([hourly, hourly, hourly])).toEqual([0, 0, 0])
  })

  it('grows to what 200 ms need', () => {
    expect(
      ask([
        [1, 0],
        [1, 1],
        [3, 3],
        [7, 7],
        [200, 200],
        [200, 200],
      ]),
    ).toEqual([0, 2, 6, 14, 200, 200])
  })

  it('ends with the requests', () => {
    expect(
      ask([
        [1, 0],
        [200, 200],
        [0, 200],
      ]),
    ).toEqual([0, 200, 0])
  })

  it('counts what is at hand', () => {
    expect(
      ask(
        [
          [1, 0],
          [200, 200],
        ],
        150,
      ),
    ).toEqual([0, 50])
    expect(
      ask(
        [
          [1, 0],
          [100, 200],
        ],
        150,
      ),
    ).toEqual([0, 0])
  })
})

import { LEASE_MS } from './lease-script.ts'

export interface Demand {
  /** One more request. */
  readonly count: () => void
  /** How many tokens to lease beyond those at hand, judged by the requests since it was last asked. */
  readonly extra: (nowMs: number, atHand: number) => number
}

/** Expects of the next lease's time as many requests as came lately; a sudden rush is believed by and by. */
export function createDemand(): Demand {
  let counted = 0
  let since = Number.NEGATIVE_INFINITY
  let expectedBefore = 0
  return {
    count: () => {
      counted += 1
    },
    extra: (nowMs, atHand) => {
      const perLease = (counted * LEASE_MS) / Math.max(1, nowMs - since)
      const expected = Math.floor(Math.min(perLease, 2 * Math.max(counted, expectedBefore)))
      counted = 0
      since = nowMs
      expectedBefore = expected
      return Math.max(0, expected - atHand)
    },
  }
}

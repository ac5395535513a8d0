import type { FindingsOfKind } from '@nextvisit/audit'

/** What one fault did under one seed. */
export interface FaultResult {
  readonly fault: string
  readonly family: string
  readonly seed: number
  /** Of the code that ran. */
  readonly commit?: string | undefined
  /** Undefined: it did not strike, and the run has shown nothing. */
  readonly witness?: string | undefined
  readonly requests: number
  /** Answered 503, or not at all: their callers can't know. */
  readonly unknown: number
  /** Of those, the ones that failed though no part was away, or before anything was done. */
  readonly needless: number
  /** Of the time in which the gateway could run. */
  readonly longestMs: number
  /** From healing until the last request that failed. */
  readonly recoveryMs: number
  /** From a signal to the owner of partitions until others had committed on each of them. */
  readonly failoverMs?: number | undefined
  /** For which a poison record held its partition up. */
  readonly heldUpMs?: number | undefined
  /** What the services hold on to at the end of an outage more than at its beginning: the worst of them. */
  readonly growthMb?: number | undefined
  /** From the last request until nothing was left to read, and counting again found no difference. */
  readonly atRestMs: number
  /** All of it, from calm to rest. */
  readonly tookMs: number
  /** None where all is well. */
  readonly differences: readonly FindingsOfKind[]
}

/** What some faults measure themselves. */
export type Measured = Pick<FaultResult, 'failoverMs' | 'heldUpMs' | 'growthMb'>

/** The bounds. A machine that does other things, too, misses those of time now and then. */
export const BOUNDS = {
  needless: 0,
  longestMs: 2_500,
  recoveryMs: 10_000,
  failoverMs: 15_000,
  heldUpMs: 1_000,
  growthMb: 10,
} as const

export type Bound = keyof typeof BOUNDS

export function isBeyond(bound: Bound, value: number | undefined): boolean {
  return value !== undefined && value > BOUNDS[bound]
}

/** The bounds that a result misses. */
export function missedBounds(result: FaultResult): Bound[] {
  return (Object.keys(BOUNDS) as Bound[]).filter((bound) => isBeyond(bound, result[bound]))
}

/** Whether it struck, and nothing was lost, doubled or late. */
export function isGood(result: FaultResult): boolean {
  return result.witness !== undefined && result.differences.length === 0 && missedBounds(result).length === 0
}

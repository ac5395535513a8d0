import type { FindingsOfKind } from '@nextvisit/audit'

/** The result of one fault with one seed. */
export interface FaultResult {
  readonly fault: string
  readonly family: string
  readonly seed: number
  /** The commit of the code that ran. */
  readonly commit?: string | undefined
  /** Proof that the fault struck. Undefined: it did not, and the run proves nothing. */
  readonly witness?: string | undefined
  readonly requests: number
  /** Requests answered 503 or not at all, so that the caller does not know the outcome. */
  readonly unknown: number
  /** Unknown requests that failed although no part was unavailable, or before the fault struck. */
  readonly needless: number
  /** The slowest answer, not counting time in which the gateway was stopped. */
  readonly longestMs: number
  /** From the end of the fault until the last request that failed. */
  readonly recoveryMs: number
  /** From the signal to a partitions' owner until another process had committed on each of them. */
  readonly failoverMs?: number | undefined
  /** How long a poison record delayed its partition. */
  readonly heldUpMs?: number | undefined
  /** How much more memory a service uses at the end of an outage than at its beginning: the worst service. */
  readonly growthMb?: number | undefined
  /** How many checks of limits were left out while hostile callers were at work. */
  readonly unchecked?: number | undefined
  /** The slowest answer to another organization while a hostile one was at work. */
  readonly besideMs?: number | undefined
  /** From rest until no room was reserved for the organization that had leased it. */
  readonly roomFreeMs?: number | undefined
  /** From the last request until every consumer had read everything and an audit found no difference. */
  readonly atRestMs: number
  /** The whole run. */
  readonly tookMs: number
  /** Everything that is wrong; empty if nothing is. */
  readonly differences: readonly FindingsOfKind[]
}

/** What some faults measure themselves. */
export type Measured = Pick<
  FaultResult,
  'failoverMs' | 'heldUpMs' | 'growthMb' | 'unchecked' | 'besideMs' | 'roomFreeMs'
>

/** The required bounds. A busy machine sometimes misses those of time. */
export const BOUNDS = {
  needless: 0,
  longestMs: 2_500,
  recoveryMs: 10_000,
  failoverMs: 15_000,
  heldUpMs: 1_000,
  growthMb: 10,
  unchecked: 0,
  besideMs: 1_500,
  roomFreeMs: 65_000,
} as const

export type Bound = keyof typeof BOUNDS

export function isBeyond(bound: Bound, value: number | undefined): boolean {
  return value !== undefined && value > BOUNDS[bound]
}

/** The bounds that a result misses. */
export function missedBounds(result: FaultResult): Bound[] {
  return (Object.keys(BOUNDS) as Bound[]).filter((bound) => isBeyond(bound, result[bound]))
}

/** Whether the fault struck, and nothing was lost, doubled or late. */
export function isGood(result: FaultResult): boolean {
  return result.witness !== undefined && result.differences.length === 0 && missedBounds(result).length === 0
}

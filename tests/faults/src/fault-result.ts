import type { FindingsOfKind } from '@nextvisit/audit'

/** The result of one fault with one seed. */
export interface FaultResult {
  readonly fault: string
  readonly family: string
  readonly seed: number
  /** The commit of the code that ran. */
  readonly commit?: string | undefined
  /** Proof that the fault struck. Undefined if it did not; then the run proves nothing. */
  readonly witness?: string | undefined
  readonly requests: number
  /** Requests with 503 or without an answer. The caller does not know their outcome. */
  readonly unknown: number
  /** Unknown requests while every part was available, or before the fault struck. */
  readonly needless: number
  /** The slowest answer, without the time in which the gateway was stopped. */
  readonly longestMs: number
  /** Time from the end of the fault to the last failed request. */
  readonly recoveryMs: number
  /** Time from the signal to the owner until other processes have committed on all its partitions. */
  readonly failoverMs?: number | undefined
  /** Delay of a partition by a poison record. */
  readonly heldUpMs?: number | undefined
  /** Memory growth of the worst service from the beginning to the end of an outage. */
  readonly growthMb?: number | undefined
  /** Limit checks skipped beside a hostile organization. */
  readonly unchecked?: number | undefined
  /** The slowest answer to other organizations beside a hostile one. */
  readonly besideMs?: number | undefined
  /** Time from rest until no leased room is reserved. */
  readonly roomFreeMs?: number | undefined
  /** Time from the last request until every consumer has folded the log and an audit finds no difference. */
  readonly atRestMs: number
  /** Duration of the whole run. */
  readonly tookMs: number
  /** All errors; empty if there are none. */
  readonly differences: readonly FindingsOfKind[]
}

/** Values that only some faults measure. */
export type Measured = Pick<
  FaultResult,
  'failoverMs' | 'heldUpMs' | 'growthMb' | 'unchecked' | 'besideMs' | 'roomFreeMs'
>

/** The required bounds. A busy machine sometimes misses the bounds of time. */
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

/** Returns true if the fault struck, and nothing was lost, doubled or late. */
export function isGood(result: FaultResult): boolean {
  return result.witness !== undefined && result.differences.length === 0 && missedBounds(result).length === 0
}

import type { UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import type { Snapshot } from './snapshot.ts'

/** Users whose ids lie between two UUIDs, both included: the share of one pass. */
export interface UserRange {
  readonly first: string
  readonly last: string
}

export interface FoldedFact {
  /** Where on `user-events` it is. */
  readonly partition: number
  readonly offset: bigint
  /** A dead letter that was folded later: when is unknown, so what depends on the order is unknown, too. */
  readonly isLate: boolean
}

/** Computes some of one schema's tables again, from every record that the snapshot's consumer has folded. */
export interface Model {
  /** A record of a user of this pass. */
  readonly foldUser?: (fact: UserFact, how: FoldedFact) => void
  /** Compares the rows of this pass's users, and drops them. */
  readonly compareUsers?: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
  /** Any record, in the pass of its user: only each user's records are in order. For rows that users share. */
  readonly foldShared?: (fact: UserFact) => void
  /** Compares the rows that users share, after the last pass. */
  readonly compareShared?: (snapshot: Snapshot, findings: Findings) => Promise<void>
}

export const OF_RANGE = 'WHERE user_id BETWEEN $1::uuid AND $2::uuid'

/** Clocks of gateways and evaluators differ by less than this, and they learn of an applied revision within it. */
export const NEAR_MS = 15_000

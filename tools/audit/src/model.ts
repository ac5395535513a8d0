import type { ClearFact, UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import type { Snapshot } from './snapshot.ts'

/** Users of one pass: ids between two UUIDs, both included. */
export interface UserRange {
  readonly first: string
  readonly last: string
}

export interface FoldedFact {
  /** Partition of `user-events`. */
  readonly partition: number
  readonly offset: bigint
  /** True if it was a dead letter and folded later, at an unknown time. Order-dependent columns are then unknown. */
  readonly isLate: boolean
}

/** Recomputes some tables of a schema from every record that the snapshot's consumer has folded. */
export interface Model {
  /** Folds a record of a user of this pass. */
  readonly foldUser?: (fact: UserFact, how: FoldedFact) => void
  /**
   * Receives a record of a user of this pass that can no longer be opened, of an erasure that the consumer has not folded yet. The
   * user's rows may or may not contain it.
   */
  readonly foldLost?: (fact: ClearFact, how: FoldedFact) => void
  /** Compares the rows of the users of this pass, and drops them. */
  readonly compareUsers?: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
  /** Folds any record, fenced or not, in the pass of its user, without opening it. Only the records of one user are in order. */
  readonly foldClear?: (fact: ClearFact) => void
  /** Compares the rows shared by users, after the last pass. */
  readonly compareShared?: (snapshot: Snapshot, findings: Findings) => Promise<void>
}

export const OF_RANGE = 'WHERE user_id BETWEEN $1::uuid AND $2::uuid'

/** Maximum difference in ms between clocks of gateways and evaluators, and maximum delay of an applied revision. */
export const NEAR_MS = 15_000

import type { UserFact } from './facts.ts'
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
  /** Compares the rows of the users of this pass, and drops them. */
  readonly compareUsers?: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
  /** Folds any record, in the pass of its user, for rows shared by users. Only the records of one user are in order. */
  readonly foldShared?: (fact: UserFact) => void
  /** Compares the rows shared by users, after the last pass. */
  readonly compareShared?: (snapshot: Snapshot, findings: Findings) => Promise<void>
}

export const OF_RANGE = 'WHERE user_id BETWEEN $1::uuid AND $2::uuid'

/** Maximum difference in ms between clocks of gateways and evaluators, and maximum delay of an applied revision. */
export const NEAR_MS = 15_000

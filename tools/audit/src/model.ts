import type { UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import type { Snapshot } from './snapshot.ts'

/** Users whose ids lie between two UUIDs, both included: one pass's share of them. */
export interface UserRange {
  readonly first: string
  readonly last: string
}

export interface FoldedFact {
  /** Where on `user-events` it is. */
  readonly partition: number
  readonly offset: bigint
  /** A dead letter that was folded after all: nobody can tell when, so what depends on the order is not known. */
  readonly isLate: boolean
}

/** Counts some of one schema's tables again. It is told of every record that the snapshot's consumer has folded. */
export interface Model {
  /** A record of a user of this pass. */
  readonly foldUser?: (fact: UserFact, how: FoldedFact) => void
  /** Compares the rows of this pass's users, and forgets them. */
  readonly compareUsers?: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
  /** Any record, in the pass of its user, and so in no order but each user's: for rows that users share. */
  readonly foldShared?: (fact: UserFact) => void
  /** Compares the rows that users share, after the last pass. */
  readonly compareShared?: (snapshot: Snapshot, findings: Findings) => Promise<void>
}

export const OF_RANGE = 'WHERE user_id BETWEEN $1::uuid AND $2::uuid'

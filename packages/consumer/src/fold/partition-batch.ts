import type { FetchedRecord, FetchTime } from '@nextvisit/log'
import type { Recorded } from '../core/projection.ts'
import type { NewDeadLetter } from '../dead-letters/dead-letter-rows.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'

/** The part of a fetched batch that one partition contributes to a commit. It begins at the checkpoint. */
export interface PartitionBatch {
  readonly checkpoint: PartitionCheckpoint
  readonly records: readonly FetchedRecord[]
  /** The checkpoint once the batch is committed. */
  readonly nextOffset: bigint
  /** The request that fetched it. */
  readonly fetch?: FetchTime | undefined
  /** Returns the reason why a record becomes a dead letter although it can be decoded. Absent: none does. */
  readonly deadBecause?: ((record: FetchedRecord) => string | undefined) | undefined
}

/** The decoded records of a batch, and those that become dead letters. */
export interface DecodedBatch<Fact> {
  readonly recorded: readonly Recorded<Fact>[]
  readonly deadLetters: readonly NewDeadLetter[]
  /** Present if the batch ends before this offset: the next commit continues there. */
  readonly cutAt?: bigint
}

/** The result of one attempt to commit a partition's batch. */
export type Outcome = Folded | Stale | { readonly outcome: 'failed'; readonly error: unknown }

/** Committed, perhaps only the beginning of the batch: the checkpoint shows how much. */
export interface Folded {
  readonly outcome: 'folded'
  readonly records: number
  readonly deadLetters: number
  readonly duplicates: number
  /** The work that follows the commit, such as replies. Never rejects. */
  readonly after?: Promise<unknown>
}

/** Another process has moved the checkpoint. Nothing was written, and the checkpoint was read again. */
export interface Stale {
  readonly outcome: 'stale'
  /** A replay has swapped the read models. Otherwise another owner was faster. */
  readonly isSwapped?: true
  /** Follows an earlier part of the batch that was committed. */
  readonly after?: Promise<unknown>
}

/** The outcomes of batches that were committed together. A failed one wrote nothing, unless the answer to its commit was lost. */
export type Outcomes = ReadonlyMap<PartitionBatch, Outcome>

export const NOTHING_FOLDED = { outcome: 'folded', records: 0, deadLetters: 0, duplicates: 0 } as const

/** Resolves once the work after a commit is done. Rejects with the error of a failed one. */
export async function finishOutcome(outcome: Outcome): Promise<Folded | Stale> {
  if (outcome.outcome === 'failed') throw outcome.error
  const { after, ...result } = outcome
  await after
  return result
}

/** Returns the outcome of a batch. A batch without one would stay busy forever, so it counts as failed. */
export function outcomeOf(outcomes: Outcomes, batch: PartitionBatch): Outcome {
  return (
    outcomes.get(batch) ?? { outcome: 'failed', error: new Error('A commit ended without an outcome of this batch') }
  )
}

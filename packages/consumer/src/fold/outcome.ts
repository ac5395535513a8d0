/** The result of one attempt to commit a batch. */
export type Outcome = Folded | Stale | Failed

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

/** Nothing of the batch was committed, unless the answer to the commit was lost. */
export interface Failed {
  readonly outcome: 'failed'
  readonly error: unknown
}

export const NOTHING_FOLDED = { outcome: 'folded', records: 0, deadLetters: 0, duplicates: 0 } as const

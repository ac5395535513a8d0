/** What became of one commit's work. */
export type FoldResult = Folded | Stale

export interface Folded {
  readonly outcome: 'folded'
  readonly records: number
  readonly deadLetters: number
  readonly duplicates: number
}

/**
 * Somebody else has moved the checkpoint. Nothing was written, and the checkpoint was read again: the next attempt
 * continues from there.
 */
export interface Stale {
  readonly outcome: 'stale'
  /** A replay has swapped the read models. Otherwise another owner was faster. */
  readonly isSwapped?: true
}

export const NOTHING_FOLDED = { outcome: 'folded', records: 0, deadLetters: 0, duplicates: 0 } as const

/** Of two commits, one after the other. */
export function sumOf(first: Folded, second: FoldResult): FoldResult {
  if (second.outcome === 'stale') return second
  return {
    outcome: 'folded',
    records: first.records + second.records,
    deadLetters: first.deadLetters + second.deadLetters,
    duplicates: first.duplicates + second.duplicates,
  }
}

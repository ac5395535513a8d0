import { DUPLICATE_WINDOW_MS, type IdentifyRequested } from '@nextvisit/contracts'

/** The UTC calendar month of an instant as records carry it: `2026-11` (decisions.md, Words). */
export function monthOf(instant: string): string {
  return instant.slice(0, 7)
}

/**
 * Whether a published record counts its user in the record's own month. One with an `Idempotency-Key` may be a duplicate
 * of a record of the month before: then the user counts in that month only (decisions.md, Retries).
 */
export function countsInOwnMonth({ keyed, received }: Pick<IdentifyRequested, 'keyed' | 'received'>): boolean {
  if (!keyed) return true
  const earliest = new Date(Date.parse(received) - DUPLICATE_WINDOW_MS).toISOString()
  return monthOf(earliest) === monthOf(received)
}

/** When a month begins, and when the next one does: ms since the epoch. */
export function boundsOfMonth(month: string): { readonly startMs: number; readonly endMs: number } {
  const [year, number] = numbersOf(month)
  return { startMs: Date.UTC(year, number - 1), endMs: Date.UTC(year, number) }
}

/** `2026-12` for `2027-01`. */
export function monthBefore(month: string): string {
  const [year, number] = numbersOf(month)
  return monthOf(new Date(Date.UTC(year, number - 2)).toISOString())
}

function numbersOf(month: string): readonly [year: number, number: number] {
  return [Number(month.slice(0, 4)), Number(month.slice(5, 7))]
}

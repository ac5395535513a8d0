import { DUPLICATE_WINDOW_MS, type IdentifyRequested } from '@nextvisit/contracts'

/** Returns the UTC calendar month of an ISO instant: `2026-11` (decisions.md, Words). */
export function monthOf(instant: string): string {
  return instant.slice(0, 7)
}

/**
 * Returns whether a published record is known to count its user in the record's own month. A record with an
 * `Idempotency-Key` may be a duplicate of one in the previous month, which then counts the user (decisions.md, Retries).
 */
export function countsInOwnMonth({ keyed, received }: Pick<IdentifyRequested, 'keyed' | 'received'>): boolean {
  if (!keyed) return true
  const earliest = new Date(Date.parse(received) - DUPLICATE_WINDOW_MS).toISOString()
  return monthOf(earliest) === monthOf(received)
}

/** Returns the beginning of a month and of the next one, in ms since the epoch. */
export function boundsOfMonth(month: string): { readonly startMs: number; readonly endMs: number } {
  const [year, number] = numbersOf(month)
  return { startMs: Date.UTC(year, number - 1), endMs: Date.UTC(year, number) }
}

/** Returns the previous month: `2026-12` for `2027-01`. */
export function monthBefore(month: string): string {
  const [year, number] = numbersOf(month)
  return monthOf(new Date(Date.UTC(year, number - 2)).toISOString())
}

function numbersOf(month: string): readonly [year: number, number: number] {
  return [Number(month.slice(0, 4)), Number(month.slice(5, 7))]
}

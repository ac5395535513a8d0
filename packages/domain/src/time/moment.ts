/**
 * The instant at which a record was received or a tick ran, in both forms: rows keep the text, rules count with the
 * milliseconds.
 */
export interface Moment {
  /** As `Date.toISOString()` writes it. */
  readonly iso: string
  /** Since the epoch. */
  readonly ms: number
}

export function momentOf(iso: string): Moment {
  return { iso, ms: Date.parse(iso) }
}

/** Returns whether at least `durationMs` have passed since an ISO instant. An instant that is null never came. */
export function hasPassed(instant: string | null, durationMs: number, now: Moment): boolean {
  return instant === null || now.ms - Date.parse(instant) >= durationMs
}

/** When a record was received, or a tick ran: rows and facts keep the text, rules count with the milliseconds. */
export interface Moment {
  /** As `Date.toISOString()` writes it. */
  readonly iso: string
  /** Since the epoch. */
  readonly ms: number
}

export function momentOf(iso: string): Moment {
  return { iso, ms: Date.parse(iso) }
}

/**
 * Facts are appended after they were received, by gateways whose clocks differ. Ticks stay this far behind, so that they
 * never move rows past an instant that a later fact still tells about.
 */
export const FACTS_ARRIVE_WITHIN_MS = 5_000

/** Up to when every fact is in the log, at an instant. */
export function settledAt(instant: Date): Date {
  return new Date(instant.getTime() - FACTS_ARRIVE_WITHIN_MS)
}

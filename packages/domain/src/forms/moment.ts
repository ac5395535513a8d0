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

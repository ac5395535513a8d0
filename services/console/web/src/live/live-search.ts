export const LIVE_OUTCOMES = ['recorded', 'queued', 'delivered', 'ended', 'refused'] as const

/** What the screen's address says: which entries it shows. Absent: all. */
export interface LiveSearch {
  readonly project?: string | undefined
  readonly event?: string | undefined
  readonly outcome?: (typeof LIVE_OUTCOMES)[number] | undefined
}

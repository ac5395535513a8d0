export const LIVE_OUTCOMES = ['recorded', 'queued', 'delivered', 'ended', 'refused'] as const

/** Filter in the address of the screen. Absent members match all entries. */
export interface LiveSearch {
  readonly project?: string | undefined
  readonly event?: string | undefined
  readonly outcome?: (typeof LIVE_OUTCOMES)[number] | undefined
}

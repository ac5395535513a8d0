/** Records may gather for a moment; nobody waits for them then. */
const LATE_AFTER_S = 10

/** Whether a consumer, or one of its partitions, is further behind than it should be. The pages say so too. */
export function isLate(lagSeconds: number | null): boolean {
  return lagSeconds !== null && lagSeconds > LATE_AFTER_S
}

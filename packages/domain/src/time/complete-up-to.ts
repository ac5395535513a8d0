/**
 * The longest time in ms between receiving a fact and its place in the log, clock differences between gateways included.
 * Ticks stay this far behind, so that no later fact is older than their changes.
 */
export const FACTS_ARRIVE_WITHIN_MS = 5_000

/** Returns the instant up to which every fact is in the log at `instant`. */
export function completeUpTo(instant: Date): Date {
  return new Date(instant.getTime() - FACTS_ARRIVE_WITHIN_MS)
}

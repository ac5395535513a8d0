import type { Watermarks } from '@nextvisit/log'

/**
 * One record before the checkpoint: the fold sees by it whether this is still the log that was folded. A consumer
 * knows older marks only; what it reads from there and is folded already is skipped.
 */
export function beginOf(nextOffset: bigint, { low, high }: Watermarks): bigint {
  const next = nextOffset < high ? nextOffset : high
  return next > low ? next - 1n : next
}

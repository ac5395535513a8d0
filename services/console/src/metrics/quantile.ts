/**
 * A quantile of a histogram, ms, from how often each bucket was counted: by its upper bound in seconds, cumulative. Linear
 * within a bucket, as Prometheus does it. null where nothing was counted. Above the last bound, that bound.
 */
export function quantileMs(buckets: ReadonlyMap<number, number>, quantile: number): number | null {
  const sorted = [...buckets].toSorted(([one], [other]) => one - other)
  const total = sorted.at(-1)?.[1] ?? 0
  if (total <= 0) return null
  const rank = quantile * total
  let [lowerBound, lowerCount] = [0, 0]
  for (const [bound, count] of sorted) {
    if (count >= rank && bound !== Infinity) {
      const share = count === lowerCount ? 1 : (rank - lowerCount) / (count - lowerCount)
      return (lowerBound + (bound - lowerBound) * share) * 1_000
    }
    if (bound !== Infinity) [lowerBound, lowerCount] = [bound, count]
  }
  return lowerBound * 1_000
}

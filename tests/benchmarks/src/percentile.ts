/** Returns a percentile of values, which need no order; NaN if there are none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).toSorted()
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

/** Returns the median of values; NaN if there are none. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

const KEPT = 50

/** The 50 latest times at which something happened, ascending, with one more. */
export function withLatest(latest: readonly number[], oneMore: number): number[] {
  return [...latest, oneMore].toSorted((one, other) => one - other).slice(-KEPT)
}

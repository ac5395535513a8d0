/** One more than the highest count that a condition may ask for (docs/spec/forms.md, Conditions). */
const KEPT = 51

/** The latest times at which something happened, ascending, with one more. */
export function withLatest(latest: readonly number[], oneMore: number): number[] {
  return [...latest, oneMore].toSorted((one, other) => one - other).slice(-KEPT)
}

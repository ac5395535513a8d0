/** One more than the highest count that a condition may ask for (docs/spec/forms.md, Conditions). */
export const KEPT = 51

/** The times at which something happened that are kept, ascending, with one more (docs/spec/forms.md, Conditions). */
export function withLatest(latest: readonly number[], oneMore: { occurredAt: string; received: string }): number[] {
  const now = Date.parse(oneMore.received)
  const times = [...latest, Date.parse(oneMore.occurredAt)].toSorted((one, other) => one - other)
  const ahead = times.filter((at) => at > now)
  const keptAhead = ahead.filter((_, place) => place < KEPT || place >= ahead.length - KEPT)
  return [...times.filter((at) => at <= now).slice(-KEPT), ...keptAhead]
}

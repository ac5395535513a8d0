/** Number of kept times: one more than the highest count in a condition (forms.md, Conditions). */
export const KEPT = 51

/** Adds an occurrence to the kept times of an event, ascending (forms.md, Conditions). */
export function withLatest(latest: readonly number[], oneMore: { occurredAt: string; received: string }): number[] {
  const now = Date.parse(oneMore.received)
  const times = [...latest, Date.parse(oneMore.occurredAt)].toSorted((one, other) => one - other)
  const ahead = times.filter((at) => at > now)
  const keptAhead = ahead.filter((_, place) => place < KEPT || place >= ahead.length - KEPT)
  return [...times.filter((at) => at <= now).slice(-KEPT), ...keptAhead]
}

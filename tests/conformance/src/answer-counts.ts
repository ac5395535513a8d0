/** Answers by the ids of their elements. */
export type Answers = Readonly<Record<string, unknown>>

/** Elements whose answers are texts. */
const TEXTS = ['reason', 'missing']

/** Counts the answers to each element, and its values: options, numbers and booleans, but no texts. */
export function countsOf(all: readonly Answers[]): object {
  const counts: Record<string, { count: number; values: Record<string, number> }> = {}
  for (const [element, answer] of all.flatMap(Object.entries<unknown>)) {
    const counted = (counts[element] ??= { count: 0, values: {} })
    counted.count += 1
    for (const value of TEXTS.includes(element) ? [] : [answer].flat()) {
      const name = typeof value === 'object' ? 'other' : String(value as string | number | boolean)
      counted.values[name] = (counted.values[name] ?? 0) + 1
    }
  }
  return counts
}

/** Returns the same of results. */
export function countsIn({ elements }: Readonly<Record<string, unknown>>): object {
  const found = elements as { id: string; count: number; distribution: { value: unknown; count: number }[] }[]
  const valuesOf = (distribution: (typeof found)[number]['distribution']) =>
    Object.fromEntries(distribution.map(({ value, count }) => [String(value), count]))
  return Object.fromEntries(found.map(({ id, count, distribution }) => [id, { count, values: valuesOf(distribution) }]))
}

import type { CounterKind } from './read-process.ts'

/** A process of a service, with its internal address. */
export interface Target {
  readonly service: string
  readonly url: string
}

/** Metrics of all processes at one moment. */
export interface Sample {
  readonly atMs: number
  /** Time since the previous sample; 0: none, and `increases` is empty. */
  readonly seconds: number
  /** Increase of each counter since then, over all processes. */
  readonly increases: ReadonlyMap<string, number>
  /** By consumer; null: no process answered. */
  readonly lagSeconds: ReadonlyMap<string, number | null>
}

/**
 * Returns the increases of a process' counters. A counter that shrank restarted with the process. Empty for a process that
 * is read for the first time: its counts are older than the interval.
 */
export function increasesOf(
  before: ReadonlyMap<string, number> | undefined,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  if (!before) return new Map()
  return new Map(
    Array.from(after, ([key, value]) => {
      const former = before.get(key) ?? 0
      return [key, value >= former ? value - former : value] as const
    }).filter(([, increase]) => increase > 0),
  )
}

/** Adds up the counters of a kind over samples, by name. */
export function totalsOf(samples: readonly Sample[], kind: CounterKind): ReadonlyMap<string, number> {
  const totals = new Map<string, number>()
  for (const { increases } of samples) {
    for (const [key, increase] of increases) {
      if (!key.startsWith(`${kind}:`)) continue
      const name = key.slice(kind.length + 1)
      totals.set(name, (totals.get(name) ?? 0) + increase)
    }
  }
  return totals
}

export function totalOf(samples: readonly Sample[], kind: CounterKind): number {
  return [...totalsOf(samples, kind).values()].reduce((sum, count) => sum + count, 0)
}

/** Returns the histogram of request durations. */
export function bucketsOf(samples: readonly Sample[]): ReadonlyMap<number, number> {
  return new Map(
    Array.from(totalsOf(samples, 'le'), ([bound, count]) => [bound === '+Inf' ? Infinity : Number(bound), count]),
  )
}

export function secondsOf(samples: readonly Sample[]): number {
  return samples.reduce((sum, { seconds }) => sum + seconds, 0)
}

/**
 * Estimates a quantile of a histogram, in ms, from cumulative counts by upper bound in seconds. Interpolates linearly within a
 * bucket, as Prometheus does. Returns null for an empty histogram, and at most the last finite bound.
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

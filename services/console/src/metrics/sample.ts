import type { CounterKind } from './read-process.ts'

/** A process of a service, by its internal address. */
export interface Target {
  readonly service: string
  readonly url: string
}

/** What all processes said at one moment. */
export interface Sample {
  readonly atMs: number
  /** Since the sample before; 0: there was none, so `increases` is empty. */
  readonly seconds: number
  /** By how much each counter grew since then, over all processes. */
  readonly increases: ReadonlyMap<string, number>
  /** By consumer; null: none of its processes answered. */
  readonly lagSeconds: ReadonlyMap<string, number | null>
}

/**
 * By how much a process' counters grew. A counter that became smaller began again with the process. Nothing where the
 * process was never read before: what it counted until now is not of this moment.
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

/** The counters of a kind, by name, added up over samples. */
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

/** The buckets of how long requests took. */
export function bucketsOf(samples: readonly Sample[]): ReadonlyMap<number, number> {
  return new Map(
    Array.from(totalsOf(samples, 'le'), ([bound, count]) => [bound === '+Inf' ? Infinity : Number(bound), count]),
  )
}

export function secondsOf(samples: readonly Sample[]): number {
  return samples.reduce((sum, { seconds }) => sum + seconds, 0)
}

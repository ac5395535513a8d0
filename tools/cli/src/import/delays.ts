type Offsets = ReadonlyMap<number, bigint>

/** The log's ends at an instant. */
interface Sample {
  readonly ends: Offsets
  readonly atMs: number
}

/** Measures how long consumers take to fold records, by the log's ends over time. Instants are in ms of `performance.now()`. */
export interface Delays {
  /** Notes the log's ends, in increasing order of time. */
  readonly noteEnds: (ends: Offsets, atMs: number) => void
  /** Returns the age of the oldest noted end that a consumer has not reached. 0: it has reached all of them. */
  readonly delayMs: (consumer: string, checkpoints: Offsets, nowMs: number) => number
}

/** Bounds memory and scans while a consumer is far behind. */
const MAX_SAMPLES = 1_000

export function createDelays(): Delays {
  let samples: Sample[] = []
  /** By consumer, the time of its oldest unreached end. */
  const behindSince = new Map<string, number>()

  return {
    noteEnds: (ends, atMs) => {
      const oldest = behindSince.size === 0 ? -Infinity : Math.min(...behindSince.values())
      const kept = samples.filter((sample) => sample.atMs >= oldest)
      // Every second one: the oldest stays, and the others lie further apart.
      samples = [...(kept.length < MAX_SAMPLES ? kept : kept.filter((_, index) => index % 2 === 0)), { ends, atMs }]
    },
    delayMs: (consumer, checkpoints, nowMs) => {
      const isReached = ({ ends }: Sample) =>
        [...ends].every(([partition, end]) => (checkpoints.get(partition) ?? 0n) >= end)
      const unreached = samples.find((sample) => !isReached(sample))
      behindSince.set(consumer, unreached?.atMs ?? nowMs)
      return unreached ? nowMs - unreached.atMs : 0
    },
  }
}

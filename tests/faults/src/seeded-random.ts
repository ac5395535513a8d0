import { createHash } from 'node:crypto'

/** Random numbers that are reproducible by seed and use (mulberry32). */
export interface Random {
  /** The next number in [0, 1). */
  readonly next: () => number
  /** A whole number in [from, to]. */
  readonly between: (from: number, to: number) => number
  readonly oneOf: <T>(values: readonly [T, ...T[]] | readonly T[]) => T
}

/** Creates the sequence of one use, so that the number of draws for one use does not change the others. */
export function createRandom(seed: number, use: string): Random {
  let state = createHash('sha256').update(`${seed}/${use}`).digest().readUInt32LE()
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    oneOf: (values) => {
      const value = values[between(0, values.length - 1)]
      if (value === undefined) throw new RangeError('There are no values to choose from')
      return value
    },
  }
}

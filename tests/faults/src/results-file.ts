import { readFile, rename, writeFile } from 'node:fs/promises'
import type { FaultResult } from './fault-result.ts'

/** The results of all previous runs, on disk. An interrupted or extended campaign continues from there. */
export interface ResultsFile {
  readonly all: () => readonly FaultResult[]
  readonly find: (seed: number, fault: string) => FaultResult | undefined
  /** Replaces an earlier result of the same seed and fault. */
  readonly put: (result: FaultResult) => Promise<void>
}

/** Opens the file, without results of faults that no longer exist. */
export async function openResultsFile(
  file: string,
  { faults, isFresh }: { readonly faults: readonly string[]; readonly isFresh: boolean },
): Promise<ResultsFile> {
  const kept = isFresh ? [] : (await readResults(file)).filter(({ fault }) => faults.includes(fault))
  const results = new Map(kept.map((result) => [nameOf(result.seed, result.fault), result]))
  return {
    all: () => [...results.values()].toSorted(bySeed),
    find: (seed, fault) => results.get(nameOf(seed, fault)),
    put: async (result) => {
      results.set(nameOf(result.seed, result.fault), result)
      const lines = [...results.values()].toSorted(bySeed).map((one) => JSON.stringify(one))
      // Write and rename, so that an interruption leaves the old file intact.
      await writeFile(`${file}.new`, `[\n${lines.join(',\n')}\n]\n`)
      await rename(`${file}.new`, file)
    },
  }
}

async function readResults(file: string): Promise<FaultResult[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as FaultResult[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new RangeError(`${file} cannot be read (${String(error)}); start over with --fresh`, { cause: error })
  }
}

function nameOf(seed: number, fault: string): string {
  return `${seed}/${fault}`
}

function bySeed(one: FaultResult, other: FaultResult): number {
  return one.seed - other.seed || (one.fault < other.fault ? -1 : 1)
}

import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Cost of one load at one rate. A batch counts as its events. */
export interface LoadFigures {
  /** Mean of {@link measureFixedWork} before and after, because the machine's speed changes within minutes. */
  readonly workMs: number
  readonly perSecond: number
  /** Sustained throughput: events divided by the time until every consumer has folded them. */
  readonly foldedPerSecond: number
  /** CPU time per answered event in ms, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
  /** CPU time of the load generator per event in ms. It is not part of the stack. */
  readonly generatorMs: number
  /** Cores used by other work on the machine. Figures of a busy machine are unreliable. */
  readonly otherCores: number
  /** Transactions in Postgres per answered event. */
  readonly transactions: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly lagRecords: number
  /** Requests with an error, or with a 2xx answer that came before the evaluator's reply. */
  readonly failed: number
  readonly late: number
}

/** Figures of a cost benchmark. */
export interface CostFigures {
  readonly measuredAt: string
  /** Result of {@link measureFixedWork} at the beginning. */
  readonly workMs: number
  /** Cores in use without load, by process. */
  readonly idleCores?: Readonly<Record<string, number>>
  /** Figures by load, then by rate. */
  readonly loads: Readonly<Record<string, Readonly<Record<string, LoadFigures>>>>
  readonly memory?: { readonly records: number; readonly residentMb: Readonly<Record<string, number>> }
}

const ROUNDS = 20_000
/** Rounds until V8 has compiled the work. */
const WARM_ROUNDS = 5_000

const FILE = path.resolve(import.meta.dirname, '../../cost-figures.json')

/** Reads the figures of the last release; undefined if there are none yet. */
export async function readKeptFigures(): Promise<CostFigures | undefined> {
  const text = await readFile(FILE, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as CostFigures)
}

/** Saves the measured figures, and keeps the others. */
export async function keepFigures(kept: CostFigures | undefined, measured: CostFigures): Promise<void> {
  await writeFile(FILE, `${JSON.stringify(mergeFigures(kept, measured), undefined, 2)}\n`)
}

export function mergeFigures(kept: CostFigures | undefined, measured: CostFigures): CostFigures {
  const loads = { ...kept?.loads }
  for (const [load, byRate] of Object.entries(measured.loads)) loads[load] = { ...loads[load], ...byRate }
  return { ...kept, ...measured, loads }
}

/** Measures the CPU time in ms of a fixed piece of work, to compare the machine's speed at different times. */
export function measureFixedWork(): number {
  fixedWork(WARM_ROUNDS)
  const before = process.cpuUsage()
  fixedWork(ROUNDS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function fixedWork(rounds: number): void {
  for (let round = 0; round < rounds; round += 1) {
    const text = JSON.stringify({ round, note: 'x'.repeat(200), list: [round, round + 1] })
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(text)))
      .digest('hex')
  }
}

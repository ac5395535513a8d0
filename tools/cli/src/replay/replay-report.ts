import type { Consumer } from '@nextvisit/consumer'
import type { ReplayComparison, ReplayStep } from '@nextvisit/contracts'
import { createProgressLines, printLine } from '../json-lines.ts'
import { print } from '../output.ts'
import { formatCount } from '../progress.ts'
import { isEqual, type TableComparison } from './compare-tables.ts'
import type { ReplayEnvironment } from './replay-consumer.ts'
import type { ReplayOutcome } from './replay.ts'
import { notComparedOf, comparisonLines, outcomeLine } from './comparison-lines.ts'

const BAR_WIDTH = 30
const DRAW_EVERY_MS = 200
const PRINT_EVERY_MS = 5_000

/** Receives the progress of a replay. */
export interface ReplayReport {
  readonly begin: ReplayEnvironment['onBegin']
  /** Adds folded records. */
  readonly progress: (records: number) => void
  /** Reports that Postgres is unavailable or busy, and that the replay retries. */
  readonly pause: (because: string) => void
  readonly step: (step: ReplayStep) => void
  readonly comparison: (comparisons: readonly TableComparison[]) => void
  readonly outcome: (outcome: ReplayOutcome) => void
  /** Ends the report, even of a failed replay. */
  readonly end: () => void
}

const STEPS: Readonly<Record<ReplayStep, string>> = {
  compare: 'Comparing, row by row …',
  carry: 'Carrying over data that is not in the log …',
  swap: 'Swapping …',
}

/** Creates a report for a terminal. */
export function createReplayText({ name, tables }: Pick<Consumer, 'name' | 'tables'>): ReplayReport {
  let progress: RebuildProgress | undefined
  return {
    begin: ({ resumedFrom, remaining }) => {
      print(`Rebuilding ${name} beside the live read models, which stay in use.`)
      if (resumedFrom) print(`Resuming the interrupted replay (started ${resumedFrom}). Use --restart to start over.`)
      progress = createRebuildProgress(remaining)
    },
    progress: (records) => progress?.add(records),
    pause: (because) => {
      progress?.clear()
      print(`Postgres is unavailable or busy (${because}); retrying.`)
    },
    step: (step) => {
      progress?.clear()
      if (step === 'compare' && progress) print(progress.summary())
      print(STEPS[step])
    },
    comparison: (comparisons) => {
      for (const line of comparisonLines(comparisons, tables)) print(line)
    },
    outcome: (outcome) => print(outcomeLine(outcome)),
    end: () => progress?.clear(),
  }
}

/** Creates a report of JSON lines for programs (packages/contracts, cli-json-output.ts). */
export function createReplayLines({ name, tables }: Pick<Consumer, 'name' | 'tables'>): ReplayReport {
  let [lines, total, folded] = [createProgressLines(), 0, 0]
  return {
    begin: ({ resumedFrom = null, remaining }) => {
      ;[lines, total, folded] = [createProgressLines(), remaining, 0]
      printLine({ type: 'begin', service: name, records: remaining, resumedFrom })
    },
    progress: (records) => {
      folded += records
      lines.report(folded / Math.max(1, total, folded), folded)
    },
    pause: (message) => printLine({ type: 'pause', message }),
    step: (step) => printLine({ type: 'step', step }),
    comparison: (comparisons) =>
      printLine({
        type: 'comparison',
        tables: comparisons.map(
          (one): ReplayComparison => ({
            ...one,
            examples: one.examples.map((example) => ({ ...example, columns: [...example.columns] })),
            notCompared: notComparedOf(tables[one.table]) ?? null,
          }),
        ),
      }),
    outcome: ({ outcome, comparisons, lockedMs }) =>
      printLine({ type: 'outcome', outcome, isEqual: isEqual(comparisons), lockedMs: Math.round(lockedMs) }),
    end: () => {},
  }
}

/** Progress display of a rebuild. */
interface RebuildProgress {
  /** Adds folded records. */
  readonly add: (records: number) => void
  /** Removes the bar until more records are folded. */
  readonly clear: () => void
  /** Returns the number of records, the seconds and the rate. */
  readonly summary: () => string
}

/** Creates a moving bar on a terminal; elsewhere it prints a line every five seconds. */
function createRebuildProgress(total: number): RebuildProgress {
  const stream = process.stdout
  const startedAt = performance.now()
  const everyMs = stream.isTTY ? DRAW_EVERY_MS : PRINT_EVERY_MS
  let shownAt = startedAt
  let folded = 0

  const rate = (): number => folded / Math.max(0.001, (performance.now() - startedAt) / 1_000)

  const show = (): void => {
    const line = lineOf({ done: folded, total: Math.max(total, folded), perSecond: rate() })
    stream.write(stream.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
  }

  return {
    add: (records) => {
      folded += records
      if (performance.now() - shownAt < everyMs) return
      shownAt = performance.now()
      show()
    },
    clear: () => {
      if (stream.isTTY) stream.write('\r\u001b[K')
    },
    summary: () =>
      `${formatCount(folded)} records folded in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s (${formatCount(Math.round(rate()))} records/s)`,
  }
}

function lineOf({ done, total, perSecond }: { done: number; total: number; perSecond: number }): string {
  const part = total === 0 ? 1 : done / total
  const filled = Math.round(part * BAR_WIDTH)
  const bar = `${'█'.repeat(filled)}${'·'.repeat(BAR_WIDTH - filled)}`
  const left = perSecond > 0 ? `${Math.ceil((total - done) / perSecond)} s left` : ''
  return `${bar} ${Math.floor(part * 100)} %  ${formatCount(done)} of ${formatCount(total)}  ${formatCount(Math.round(perSecond))} records/s  ${left}`
}

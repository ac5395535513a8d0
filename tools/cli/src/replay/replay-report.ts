import type { Consumer } from '@nextvisit/consumer'
import type { ReplayComparison, ReplayStep } from '@nextvisit/contracts'
import { createProgressLines, printLine } from '../json-lines.ts'
import { print } from '../output.ts'
import { isEqual, type TableComparison } from './compare-tables.ts'
import { createProgress, type Progress } from './progress.ts'
import type { ReplayEnvironment } from './replay-consumer.ts'
import type { ReplayOutcome } from './replay.ts'
import { notComparedOf, reportComparisons, reportOutcome } from './report.ts'

/** Is told how a replay goes. */
export interface ReplayReport {
  readonly begin: ReplayEnvironment['onBegin']
  /** So many more records are folded. */
  readonly progress: (records: number) => void
  /** Postgres is unavailable or busy; the replay tries again. */
  readonly pause: (because: string) => void
  readonly step: (step: ReplayStep) => void
  readonly comparison: (comparisons: readonly TableComparison[]) => void
  readonly outcome: (outcome: ReplayOutcome) => void
  /** The replay is over, also where it failed. */
  readonly end: () => void
}

const STEPS: Readonly<Record<ReplayStep, string>> = {
  compare: 'Comparing, row by row …',
  carry: 'Carrying over what is not in the log …',
  swap: 'Swapping …',
}

/** For people. */
export function createReplayText({ name, tables }: Pick<Consumer, 'name' | 'tables'>): ReplayReport {
  let progress: Progress | undefined
  return {
    begin: ({ resumedFrom, remaining }) => {
      print(`Rebuilding ${name} beside the live read models, which stay in use.`)
      if (resumedFrom)
        print(`Continuing the replay that was interrupted (started ${resumedFrom}). Use --restart to start over.`)
      progress = createProgress({ total: remaining, stream: process.stdout })
    },
    progress: (records) => progress?.add(records),
    pause: (because) => {
      progress?.clear()
      print(`Postgres is unavailable or busy (${because}); trying again.`)
    },
    step: (step) => {
      progress?.clear()
      if (step === 'compare' && progress) print(progress.summary())
      print(STEPS[step])
    },
    comparison: (comparisons) => {
      for (const line of reportComparisons(comparisons, tables)) print(line)
    },
    outcome: (outcome) => print(reportOutcome(outcome)),
    end: () => progress?.clear(),
  }
}

/** For programs: a line of JSON each (packages/contracts, command-lines.ts). */
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

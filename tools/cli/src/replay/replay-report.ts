import type { Consumer } from '@nextvisit/consumer'
import type { LostOffsets, ReplayComparison, ReplayStep } from '@nextvisit/contracts'
import { firstLine } from '../errors.ts'
import { createProgressLines, printLine } from '../output/json-lines.ts'
import { complain, print } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'
import { isEqual } from './compare-tables.ts'
import { lostLine } from './lost-offsets.ts'
import type { ReplayEnvironment } from './replay-consumer.ts'
import type { ReplayOutcome } from './replay.ts'
import { notComparedOf, comparisonLines, outcomeLine } from './comparison-lines.ts'
import { unavailablePart } from './unavailable-error.ts'

/** Reports a replay. */
export interface ReplayReport
  extends Pick<ReplayEnvironment, 'onBegin' | 'onProgress' | 'onLost' | 'onPause' | 'onStep' | 'onCompared'> {
  readonly onOutcome: (outcome: ReplayOutcome) => void
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
  let [progress, total, folded, startedAt] = [createProgress(process.stdout), 0, 0, 0]
  let lostOffsets = 0
  return {
    onBegin: ({ resumedFrom, remaining }) => {
      print(`Rebuilding ${name} beside the live read models, which stay in use.`)
      if (resumedFrom) print(`Resuming the interrupted replay (started ${resumedFrom}). Use --restart to start over.`)
      ;[progress, total, folded, startedAt] = [createProgress(process.stdout), remaining, 0, performance.now()]
    },
    onProgress: (records) => {
      folded += records
      progress.report(folded / Math.max(1, total, folded), folded)
    },
    onLost: (lost) => {
      progress.end()
      complain(`${lostLine(lost)}.`)
      lostOffsets += offsetsIn(lost)
    },
    onPause: (error) => {
      progress.end()
      print(`${unavailablePart(error) ?? 'A part'} is unavailable or busy (${firstLine(error)}); retrying.`)
    },
    onStep: (step) => {
      progress.end()
      if (step === 'compare') print(foldedLine(folded, (performance.now() - startedAt) / 1_000))
      print(STEPS[step])
    },
    onCompared: (comparisons) => {
      for (const line of comparisonLines(comparisons, tables)) print(line)
    },
    onOutcome: (outcome) => {
      if (lostOffsets > 0) print(`${formatCount(lostOffsets)} offsets cannot be rebuilt. See docs/runbooks/halted.md.`)
      print(outcomeLine(outcome))
    },
    end: () => progress.end(),
  }
}

function offsetsIn({ firstOffset, lastOffset }: LostOffsets): number {
  return Number(BigInt(lastOffset) - BigInt(firstOffset)) + 1
}

function foldedLine(records: number, seconds: number): string {
  const perSecond = Math.round(records / Math.max(0.001, seconds))
  return `${formatCount(records)} records folded in ${seconds.toFixed(1)} s (${formatCount(perSecond)} records/s)`
}

/** Creates a report of JSON lines for programs (packages/contracts, cli-json-output.ts). */
export function createReplayLines({ name, tables }: Pick<Consumer, 'name' | 'tables'>): ReplayReport {
  let [lines, total, folded] = [createProgressLines(), 0, 0]
  return {
    onBegin: ({ resumedFrom = null, remaining }) => {
      ;[lines, total, folded] = [createProgressLines(), remaining, 0]
      printLine({ type: 'begin', service: name, records: remaining, resumedFrom })
    },
    onProgress: (records) => {
      folded += records
      lines.report(folded / Math.max(1, total, folded), folded)
    },
    onLost: (lost) => printLine({ type: 'lost', ...lost }),
    onPause: (error) => printLine({ type: 'pause', message: firstLine(error) }),
    onStep: (step) => printLine({ type: 'step', step }),
    onCompared: (comparisons) =>
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
    onOutcome: ({ outcome, comparisons, lockedMs }) =>
      printLine({ type: 'outcome', outcome, isEqual: isEqual(comparisons), lockedMs: Math.round(lockedMs) }),
    end: () => {},
  }
}

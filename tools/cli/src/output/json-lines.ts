import type { DryRunLine, ErrorLine, ReplayLine } from '@nextvisit/contracts'
import { InvalidWorkspace, isOurs } from '../errors.ts'
import { print } from './print.ts'
import type { Progress } from './progress.ts'

const PRINT_EVERY_MS = 500

/** Prints a JSON line for programs (packages/contracts, cli-json-output.ts). */
export function printLine(line: ReplayLine | DryRunLine): void {
  print(JSON.stringify(line))
}

/** Creates a progress that prints JSON lines: the first at once, then at most two a second. */
export function createProgressLines(now: () => number = () => performance.now()): Progress {
  const startedAt = now()
  let printedAt = Number.NEGATIVE_INFINITY

  return {
    report: (share, records) => {
      if (now() - printedAt < PRINT_EVERY_MS) return
      printedAt = now()
      const seconds = (now() - startedAt) / 1_000
      const done = Math.min(1, Math.max(0, share))
      printLine({
        type: 'progress',
        share: done,
        records,
        perSecond: seconds > 0 ? Math.round(records / seconds) : 0,
        secondsLeft: done > 0 ? Math.ceil((seconds / done) * (1 - done)) : null,
      })
    },
    pause: () => {},
    end: () => {},
  }
}

/** Returns the last line of a command that an error ended. */
function errorLineOf(error: unknown): ErrorLine {
  return {
    type: 'error',
    code: isOurs(error) ? error.code : 'UNEXPECTED',
    message: error instanceof Error ? error.message.trim() : String(error),
    faults: error instanceof InvalidWorkspace ? [...error.faults] : [],
  }
}

/** Runs the work of a command. With `isJson`, an error is also printed as its last line. */
export async function endedByLine(isJson: boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (isJson) printLine(errorLineOf(error))
    throw error
  }
}

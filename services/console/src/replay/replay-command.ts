import { ReplayLine } from '@nextvisit/contracts'
import type { CommandKind } from '../commands/command-job.ts'
import type { ReplayResult, StartReplay } from './api.ts'

/** Runs `nextvisit replay`. `operatorUrl`: database address with a role that may create schemas. */
export function replayCommand(operatorUrl: string): CommandKind<StartReplay, ReplayLine, ReplayResult> {
  return {
    name: 'replay',
    argsOf: ({ service, goal, acceptDifferences, restart }) => [
      'replay',
      service,
      '--json-lines',
      ...(goal === 'compare' ? ['--dry-run'] : []),
      ...(acceptDifferences ? ['--accept-differences'] : []),
      ...(restart ? ['--restart'] : []),
    ],
    environment: { DATABASE_URL: operatorUrl },
    line: ReplayLine,
    begin: ({ service, goal, acceptDifferences }) => ({
      service,
      goal,
      acceptDifferences,
      step: 'begin',
      records: null,
      resumedFrom: null,
      isPaused: false,
      tables: null,
      outcome: null,
    }),
    evolve: evolveReplay,
    outcomeOf: ({ outcome }) => outcome?.outcome,
  }
}

/** Folds a line of the command into the result. */
function evolveReplay(so: ReplayResult, line: ReplayLine): ReplayResult {
  switch (line.type) {
    case 'begin':
      return { ...so, step: 'fold', records: line.records, resumedFrom: line.resumedFrom, isPaused: false }
    case 'pause':
      return { ...so, isPaused: true }
    case 'step':
      return { ...so, step: line.step, isPaused: false }
    case 'comparison':
      return { ...so, tables: line.tables }
    case 'outcome':
      return {
        ...so,
        outcome: { outcome: line.outcome, isEqual: line.isEqual, lockedMs: line.lockedMs },
      }
    case 'progress':
    case 'error':
      return so
  }
}

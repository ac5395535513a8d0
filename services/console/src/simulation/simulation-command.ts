import { DryRunLine, type FormTallies } from '@nextvisit/contracts'
import { reasonInWords } from '@nextvisit/domain'
import type { CommandKind } from '../commands/command-job.ts'
import type { SimulatedSide, SimulationOutcome, StartSimulation } from './api.ts'

/** Maximum number of records read from each topic, the newest. Earlier activity of users is then unknown. */
export const MAX_RECORDS = 500_000
/** If each record belongs to another user, they take 600 MB. */
const MAX_HEAP_MB = 1_024

export interface SimulationResult {
  readonly days: number
  readonly outcome: SimulationOutcome | null
}

/** Runs `nextvisit forms dry-run` with the file on standard input. It uses no database. */
export const simulationCommand: CommandKind<StartSimulation, DryRunLine, SimulationResult> = {
  name: 'simulation',
  argsOf: ({ days }) => [
    'forms',
    'dry-run',
    '-',
    '--from',
    `${days}d`,
    '--max-records',
    String(MAX_RECORDS),
    '--json-lines',
  ],
  inputOf: ({ workspace }) => workspace,
  maxHeapMb: MAX_HEAP_MB,
  line: DryRunLine,
  begin: ({ days }) => ({ days, outcome: null }),
  evolve: (so, line) => (line.type === 'outcome' ? { ...so, outcome: outcomeOf(line) } : so),
  outcomeOf: ({ outcome }) => (outcome ? 'simulated' : undefined),
}

function outcomeOf(line: Extract<DryRunLine, { type: 'outcome' }>): SimulationOutcome {
  const { from, to, records, unreadable, users, since, projects } = line
  return {
    from,
    to,
    records,
    unreadable,
    users,
    since,
    projects: projects.map(({ forms, ...project }) => ({
      ...project,
      forms: forms.map(({ form, proposed, today }) => ({ form, edited: sideOf(proposed), today: sideOf(today) })),
    })),
  }
}

function sideOf(tallies: FormTallies | null): SimulatedSide | null {
  if (!tallies) return null
  const { refused, ...counts } = tallies
  return {
    ...counts,
    stops: refused.map(({ reason, times }) => ({ reason, words: reasonInWords(reason), times })),
  }
}

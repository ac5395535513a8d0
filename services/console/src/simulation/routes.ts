import { DryRunLine, type FormTallies } from '@nextvisit/contracts'
import { reasonInWords } from '@nextvisit/domain'
import type { Input } from '../api-routes.ts'
import { type Command, createCommandJob, type CommandJobParts } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/command-run.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { type SimulatedForm, simulationApi, type SimulationResult } from './api.ts'

const NOT_HERE = refuse(409, 'not-here', 'This console cannot start simulations. Run the command on a terminal.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No simulation started here is running.')

/** Maximum number of records read from each topic, the newest. Earlier activity of users is then unknown. */
const MAX_RECORDS = 500_000
/** If each record belongs to another user, they take 600 MB. */
const MAX_HEAP_MB = 1_024

interface SimulationParts extends Omit<CommandJobParts, 'cli'> {
  /** undefined: this console starts no commands. */
  readonly cli: CommandJobParts['cli'] | undefined
}

/** Creates the routes of the screen, and the job that they start. */
export function createSimulation({ cli, nowMs, logger }: SimulationParts) {
  const job = cli && createCommandJob(dryRunCommand, { cli, nowMs, logger })

  const routes = serveApi(simulationApi, {
    readSimulation: (_, { role }) => {
      const run = job?.run()
      return answered({
        canStart: job !== undefined,
        maxRecords: MAX_RECORDS,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
    startSimulation: (input, session) => {
      if (!job) return NOT_HERE
      if (job.start(input, session) === 'started') return answered({})
      return refuse(409, 'runs', `A simulation that ${job.run()?.by} started is running. Wait for it, or stop it.`)
    },
    stopSimulation: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })
  return { routes, close: async () => job?.close() }
}

/** `nextvisit forms dry-run` with the file on standard input. It uses no database. */
const dryRunCommand: Command<Input<'startSimulation'>, DryRunLine, SimulationResult> = {
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
  initialResult: ({ days }) => ({ days, outcome: null }),
  evolve: (result, line) => (line.type === 'outcome' ? { ...result, outcome: outcomeOf(line) } : result),
  outcomeOf: ({ outcome }) => (outcome ? 'simulated' : undefined),
}

function outcomeOf(line: Extract<DryRunLine, { type: 'outcome' }>): SimulationResult['outcome'] {
  const { type: _, projects, ...outcome } = line
  return {
    ...outcome,
    projects: projects.map(({ forms, ...project }) => ({
      ...project,
      forms: forms.map(({ form, proposed, today }) => ({
        form,
        proposed: proposed && inWords(proposed),
        today: today && inWords(today),
      })),
    })),
  }
}

function inWords({ refused, ...counts }: FormTallies): SimulatedForm {
  return { ...counts, refused: refused.map((refusal) => ({ ...refusal, words: reasonInWords(refusal.reason) })) }
}

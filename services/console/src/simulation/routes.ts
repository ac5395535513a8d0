import type { CommandJob } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/run-answer.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { simulationApi, type StartSimulation } from './api.ts'
import { MAX_RECORDS, type SimulationResult } from './simulation-command.ts'

const NOT_HERE = refuse(409, 'not-here', 'This console cannot start simulations. Run the command on a terminal.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No simulation started here is running.')

/** `job` is undefined where the console has no CLI to start. */
export function createSimulationRoutes(job: CommandJob<StartSimulation, SimulationResult> | undefined) {
  return serveApi(simulationApi, {
    readSimulation: (_, { role }) => {
      const run = job?.look()
      return answered({
        canStart: job !== undefined,
        maxRecords: MAX_RECORDS,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
    startSimulation: (asked, session) => {
      if (!job) return NOT_HERE
      if (job.start(asked, session) === 'started') return answered({})
      return refuse(409, 'runs', `A simulation that ${job.look()?.by} started is running. Wait for it, or stop it.`)
    },
    stopSimulation: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })
}

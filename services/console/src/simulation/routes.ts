import type { CommandJob } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/run-answer.ts'
import { answered, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { Nothing } from '../session/api.ts'
import { SimulationAnswer, StartSimulation } from './api.ts'
import { MAX_RECORDS, type SimulationResult } from './simulation-command.ts'

/** A file of the greatest length, with every character escaped. */
const MAX_BODY = '1mb'
const NOT_HERE = refuse(409, 'not-here', 'This console starts no simulations. Run the command on a terminal.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No simulation runs that was started here.')

/** How a simulation goes and what it found, and for operators: start one, and stop it. `job` is undefined where there is no CLI. */
export function createSimulationRoutes(
  job: CommandJob<StartSimulation, SimulationResult> | undefined,
): readonly ApiRoute[] {
  const readSimulation = apiRoute({
    method: 'GET',
    path: 'simulation',
    role: 'viewer',
    input: Nothing,
    answer: SimulationAnswer,
    handle: (_, { role }) => {
      const run = job?.look()
      return answered({
        canStart: job !== undefined,
        maxRecords: MAX_RECORDS,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
  })

  const startSimulation = apiRoute({
    method: 'POST',
    path: 'simulation/start',
    role: 'operator',
    input: StartSimulation,
    maxBody: MAX_BODY,
    answer: Nothing,
    logged: ({ days }) => ({ days: String(days) }),
    handle: (asked, session) => {
      if (!job) return NOT_HERE
      if (job.start(asked, session) === 'started') return answered({})
      return refuse(409, 'runs', `${job.look()?.by} has started a simulation, which runs. Wait for it, or stop it.`)
    },
  })

  const stopSimulation = apiRoute({
    method: 'POST',
    path: 'simulation/stop',
    role: 'operator',
    input: Nothing,
    answer: Nothing,
    handle: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })

  return [readSimulation, startSimulation, stopSimulation]
}

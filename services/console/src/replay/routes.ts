import type { CommandJob } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/run-answer.ts'
import { answered, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { Nothing } from '../session/api.ts'
import { ReplayAnswer, type ReplayResult, StartReplay } from './api.ts'

export interface ReplayRoutesParts {
  /** Undefined: replays are started on a terminal only. */
  readonly job: CommandJob<StartReplay, ReplayResult> | undefined
  readonly obstacle: ReplayAnswer['obstacle']
  /** The consumers. */
  readonly services: readonly string[]
}

const NOT_HERE = refuse(409, 'not-here', 'This console starts no replays. Run the command on a terminal.')
const NO_SERVICE = refuse(404, 'no-service', 'There is no such consumer.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No replay runs that was started here.')

/** How a replay goes, and for operators: start one, and stop it. */
export function createReplayRoutes({ job, obstacle, services }: ReplayRoutesParts): readonly ApiRoute[] {
  const readReplay = apiRoute({
    method: 'GET',
    path: 'replay',
    role: 'viewer',
    input: Nothing,
    answer: ReplayAnswer,
    handle: (_, { role }) => {
      const run = job?.look()
      return answered({
        services: [...services],
        obstacle,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
  })

  const startReplay = apiRoute({
    method: 'POST',
    path: 'replay/start',
    role: 'operator',
    input: StartReplay,
    answer: Nothing,
    logged: ({ service, goal, acceptDifferences, restart }) => ({
      service,
      goal,
      ...(acceptDifferences && { acceptDifferences: 'true' }),
      ...(restart && { restart: 'true' }),
    }),
    handle: (asked, session) => {
      if (!job) return NOT_HERE
      if (!services.includes(asked.service)) return NO_SERVICE
      if (job.start(asked, session) === 'started') return answered({})
      const { by, result } = job.look() ?? { by: 'Somebody', result: asked }
      const message = `${by} has started a replay of ${result.service}, which runs. Wait for it, or stop it.`
      return refuse(409, 'runs', message)
    },
  })

  const stopReplay = apiRoute({
    method: 'POST',
    path: 'replay/stop',
    role: 'operator',
    input: Nothing,
    answer: Nothing,
    handle: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })

  return [readReplay, startReplay, stopReplay]
}

import type { CommandJob } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/run-answer.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { type ReplayAnswer, replayApi, type ReplayResult, type StartReplay } from './api.ts'

interface ReplayRoutesParts {
  /** undefined: this console starts no replays. */
  readonly job: CommandJob<StartReplay, ReplayResult> | undefined
  readonly obstacle: ReplayAnswer['obstacle']
  /** Names of the consumers. */
  readonly services: readonly string[]
}

const NOT_HERE = refuse(409, 'not-here', 'This console cannot start replays. Run the command on a terminal.')
const NO_SERVICE = refuse(404, 'no-service', 'There is no such consumer.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No replay started here is running.')

export function createReplayRoutes({ job, obstacle, services }: ReplayRoutesParts) {
  return serveApi(replayApi, {
    readReplay: (_, { role }) => {
      const run = job?.look()
      return answered({
        services: [...services],
        obstacle,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
    startReplay: (asked, session) => {
      if (!job) return NOT_HERE
      if (!services.includes(asked.service)) return NO_SERVICE
      if (job.start(asked, session) === 'started') return answered({})
      const { by, result } = job.look() ?? { by: 'Another operator', result: asked }
      const message = `A replay of ${result.service} that ${by} started is running. Wait for it, or stop it.`
      return refuse(409, 'runs', message)
    },
    stopReplay: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })
}

import { ReplayLine } from '@nextvisit/contracts'
import { type Command, createCommandJob, type CommandJobParts } from '../commands/command-job.ts'
import { runAnswerOf } from '../commands/command-run.ts'
import { createRunFile } from '../commands/run-file.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { CONSUMERS } from '../services.ts'
import { replayApi, type ReplayResult, StartReplay } from './api.ts'

const NOT_HERE = refuse(409, 'not-here', 'This console cannot start replays. Run the command on a terminal.')
const NO_SERVICE = refuse(404, 'no-service', 'There is no such consumer.')
const NOTHING_RUNS = refuse(409, 'nothing-runs', 'No replay started here is running.')

/** A held lock, or an unavailable Kafka or Postgres. */
const RETRIED_CODES: ReadonlySet<string> = new Set([
  'CHANGE_NOT_RECORDED',
  'REPLAY_RUNS',
  'LIVE_IS_BUSY',
  'LOG_UNAVAILABLE',
  'DATABASE_UNAVAILABLE',
])

/** Bounds the answer of a replay that passes thousands of batches. */
const MAX_SHOWN_LOST = 50

interface ReplayParts extends Omit<CommandJobParts, 'cli'> {
  /** undefined: this console starts no commands. */
  readonly cli: CommandJobParts['cli'] | undefined
  /** Database address with a role that may create schemas; undefined: this console starts no replays. */
  readonly operatorUrl: string | undefined
  /** Proves to the command for whom it runs. */
  readonly internalToken: string
  /** File that remembers a running replay. undefined: a restart of the console ends it. */
  readonly replayFile: string | undefined
}

/** Creates the routes of the screen, and the job that they start. */
export function createReplay({ cli, operatorUrl, internalToken, replayFile, nowMs, logger }: ReplayParts) {
  const job =
    cli && operatorUrl !== undefined
      ? createCommandJob(replayCommand({ DATABASE_URL: operatorUrl, INTERNAL_TOKEN: internalToken }, replayFile), {
          cli,
          nowMs,
          logger,
        })
      : undefined
  const obstacle = job ? null : cli ? 'no-database' : 'no-cli'

  const routes = serveApi(replayApi, {
    readReplay: (_, { role }) => {
      const run = job?.run()
      return answered({
        services: [...CONSUMERS],
        obstacle,
        run: run ? { ...runAnswerOf(run, role), ...run.result } : null,
      })
    },
    startReplay: (input, session) => {
      if (!job) return NOT_HERE
      if (!CONSUMERS.some((service) => service === input.service)) return NO_SERVICE
      if (job.start(input, session) === 'started') return answered({})
      const { by, result } = job.run() ?? { by: 'Another operator', result: input }
      const message = `A replay of ${result.service} that ${by} started is running. Wait for it, or stop it.`
      return refuse(409, 'runs', message)
    },
    stopReplay: (_, { name }) => (job?.stop(name) ? answered({}) : NOTHING_RUNS),
  })
  return { routes, resume: () => job?.resume(), close: async () => job?.close() }
}

/** `nextvisit replay`. */
function replayCommand(
  environment: Readonly<Record<string, string>>,
  replayFile: string | undefined,
): Command<StartReplay, ReplayLine, ReplayResult> {
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
    environment,
    line: ReplayLine,
    initialResult: ({ service, goal, acceptDifferences }) => ({
      service,
      goal,
      acceptDifferences,
      step: 'begin',
      records: null,
      resumedFrom: null,
      isPaused: false,
      lost: [],
      lostBatches: 0,
      tables: null,
      outcome: null,
    }),
    evolve: evolveReplay,
    outcomeOf: ({ outcome }) => outcome?.outcome,
    ...(replayFile !== undefined && {
      resume: {
        file: createRunFile(replayFile, StartReplay),
        requestOf: (request: StartReplay) => ({ ...request, restart: false }),
        hasBegun: ({ step }: ReplayResult) => step !== 'begin',
        retriedCodes: RETRIED_CODES,
      },
    }),
  }
}

/** Folds a line of the command into the result. */
export function evolveReplay(result: ReplayResult, line: ReplayLine): ReplayResult {
  switch (line.type) {
    case 'begin':
      return { ...result, step: 'fold', records: line.records, resumedFrom: line.resumedFrom, isPaused: false }
    case 'pause':
      return { ...result, isPaused: true }
    case 'lost': {
      const { type: _, ...offsets } = line
      const lost = result.lost.length < MAX_SHOWN_LOST ? [...result.lost, offsets] : result.lost
      return { ...result, lost, lostBatches: result.lostBatches + 1 }
    }
    case 'step':
      return { ...result, step: line.step, isPaused: false }
    case 'comparison':
      return { ...result, tables: line.tables }
    case 'outcome':
      return {
        ...result,
        outcome: { outcome: line.outcome, isEqual: line.isEqual, lockedMs: line.lockedMs },
      }
    case 'progress':
    case 'error':
      return result
  }
}

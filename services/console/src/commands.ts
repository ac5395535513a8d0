import type { Logger } from '@nextvisit/service-kit'
import type { ConsoleConfig } from './config.ts'
import { replayCommand } from './replay/replay-command.ts'
import { createReplayRoutes } from './replay/routes.ts'
import { CONSUMERS } from './services.ts'
import { createSimulationRoutes } from './simulation/routes.ts'
import { simulationCommand } from './simulation/simulation-command.ts'
import { createCommandJob } from './commands/command-job.ts'

interface CommandsParts extends Pick<ConsoleConfig, 'cliEntry' | 'operatorUrl' | 'commandEnvironment'> {
  readonly nowMs: () => number
  readonly logger: Logger
}

/** Creates the jobs that run commands of `nextvisit`, and the routes that start them. */
export function createCommands(parts: CommandsParts) {
  const { cliEntry, operatorUrl, commandEnvironment, nowMs, logger } = parts
  const cli = cliEntry === undefined ? undefined : { entry: cliEntry, environment: commandEnvironment }
  const jobParts = cli && { cli, nowMs, logger }
  const simulation = jobParts && createCommandJob(simulationCommand, jobParts)
  const replay = jobParts && operatorUrl ? createCommandJob(replayCommand(operatorUrl), jobParts) : undefined
  const obstacle = cli ? (operatorUrl ? null : 'no-database') : 'no-cli'
  return {
    routes: {
      ...createReplayRoutes({ job: replay, obstacle, services: CONSUMERS }),
      ...createSimulationRoutes(simulation),
    },
    /** Ends running commands. An interrupted replay is safe, and resumes when it is started again. */
    stop: async (): Promise<void> => void (await Promise.all([replay?.close(), simulation?.close()])),
  }
}

import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConnection } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import { createCommandJob } from './commands/command-job.ts'
import type { ConsoleConfig } from './config.ts'
import { createForms } from './forms/forms.ts'
import { createApp } from './http/app.ts'
import { createSite } from './http/site.ts'
import { readWebFiles } from './http/web-files.ts'
import { createKnownCatalog } from './known-catalog.ts'
import { createSampler } from './metrics/sampler.ts'
import { scrape } from './metrics/scrape.ts'
import { replayCommand } from './replay/replay-command.ts'
import { createConsumersRoute } from './routes/consumers-route.ts'
import { createFormRoutes } from './routes/form-routes.ts'
import { createOverviewRoute } from './routes/overview-route.ts'
import { createReplayRoutes } from './routes/replay-routes.ts'
import { createSegmentRoutes } from './routes/segment-routes.ts'
import { createSigningIn } from './routes/signing-in.ts'
import { createSimulationRoutes } from './routes/simulation-routes.ts'
import { createTryItRoutes } from './routes/try-it-routes.ts'
import { createUserRoutes } from './routes/user-routes.ts'
import { createSegments } from './segments/segments.ts'
import { createTokenCheck } from './session/check-token.ts'
import { createSessions } from './session/sessions.ts'
import { simulationCommand } from './simulation/simulation-command.ts'
import { createFindDemo } from './try-it/demo.ts'
import { createUsers } from './users/users.ts'

const DEMO_KNOWN_WITHIN_MS = 3_000
const nowMs = () => Date.now()
const WEB = path.resolve(import.meta.dirname, '../generated/web')

export interface ConsoleParts
  extends Pick<ConsoleConfig, 'tokens' | 'publicUrl' | 'demoKeysFile' | 'gatewayUrl' | 'services' | 'kafka'>,
    Pick<ConsoleConfig, 'cliEntry' | 'operatorUrl' | 'commandEnvironment'> {
  readonly connection: LogConnection
  /** The token that services share. */
  readonly internalToken: string
  readonly logger: Logger
}

/** Wires the console together. Reads the built pages; opens nothing else. */
export async function createConsole(parts: ConsoleParts) {
  const { connection, services, tokens, logger, internalToken: token } = parts
  const partitionCount = parts.kafka.partitions.keys
  const targets = Object.entries(services).flatMap(([service, urls]) => urls.map((url) => ({ service, url })))
  const sampler = createSampler({ targets, scrape, nowMs })
  const site = createSite(parts.publicUrl)
  const sessions = createSessions(nowMs)
  const catalog = createKnownCatalog(connection)
  const findDemo = createFindDemo(parts.demoKeysFile, catalog)
  // Whoever signs in while Kafka is unavailable wants to see what is wrong, not to wait for the catalog.
  const hasDemo = async () => (await findDemo()) !== undefined
  const canTry = async () =>
    parts.gatewayUrl !== undefined && Promise.race([hasDemo(), sleep(DEMO_KNOWN_WITHIN_MS, false, { ref: false })])
  const users = createUsers({ connection, services, token, partitionCount })
  const commands = createCommands(parts)
  const forms = createForms({ baseUrls: services['form-trigger-evaluator'], token })
  const segments = createSegments({ baseUrls: services['user-projector'], token })
  const app = createApp({
    site,
    sessions,
    routes: [
      createOverviewRoute(sampler, partitionCount, nowMs),
      createConsumersRoute({ targets: targets.filter(({ service }) => service !== 'gateway'), token, partitionCount }),
      ...commands.routes,
      ...createUserRoutes({ catalog, users }),
      ...createFormRoutes({ catalog, forms, nowMs }),
      ...createSegmentRoutes({ catalog, segments }),
      ...createTryItRoutes({ findDemo, gatewayUrl: parts.gatewayUrl }),
    ],
    signingIn: createSigningIn({ site, sessions, checkToken: createTokenCheck({ tokens, nowMs }), canTry, logger }),
    webFiles: await readWebFiles(WEB, site.basePath),
    logger,
  })
  return { app, sampler, commands }
}

/** The long work that commands of `nextvisit` do. */
function createCommands({ cliEntry, operatorUrl, commandEnvironment, services, logger }: ConsoleParts) {
  const cli = cliEntry === undefined ? undefined : { entry: cliEntry, environment: commandEnvironment }
  const jobParts = cli && { cli, nowMs, logger }
  const simulation = jobParts && createCommandJob(simulationCommand, jobParts)
  const replay = jobParts && operatorUrl ? createCommandJob(replayCommand(operatorUrl), jobParts) : undefined
  const obstacle = cliEntry ? (operatorUrl ? null : 'no-database') : 'no-cli'
  const consumers = Object.keys(services).filter((service) => service !== 'gateway')
  return {
    routes: [
      ...createReplayRoutes({ job: replay, obstacle, services: consumers }),
      ...createSimulationRoutes(simulation),
    ],
    start: () => Promise.resolve(),
    /** Ends what runs: an interrupted replay is safe, and continues when it is started again. */
    stop: async () => void (await Promise.all([replay?.close(), simulation?.close()])),
  }
}

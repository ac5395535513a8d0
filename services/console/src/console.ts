import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConnection } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import type { ApiName } from './api-routes.ts'
import { createKnownCatalog } from './catalog/known-catalog.ts'
import { createCatalogRoutes } from './catalog/routes.ts'
import { createCommands } from './commands.ts'
import type { ConsoleConfig } from './config.ts'
import { createDeadLetterRoutes } from './dead-letters/routes.ts'
import { createFormRoutes } from './forms/routes.ts'
import type { ApiRoute } from './http/api-route.ts'
import { createApp } from './http/app.ts'
import { createSite } from './http/site.ts'
import { readWebFiles } from './http/web-files.ts'
import { progressOf } from './live/folded-up-to.ts'
import { createLiveFeed } from './live/live-feed.ts'
import { createLiveRoutes } from './live/routes.ts'
import { createSampler } from './metrics/sampler.ts'
import { scrape } from './metrics/scrape.ts'
import { askOperations } from './operations/consumer-operations.ts'
import { createOperationsRoutes } from './operations/routes.ts'
import { createOverviewRoutes } from './overview/routes.ts'
import { createReachedLimits } from './registry/reached-limits.ts'
import { createRegistryRoutes } from './registry/routes.ts'
import { createSegmentRoutes } from './segments/routes.ts'
import { createServices } from './services.ts'
import type { sessionApi } from './session/api.ts'
import { createTokenCheck } from './session/check-token.ts'
import { createSigningIn } from './session/routes.ts'
import { createSessions } from './http/sessions.ts'
import { createFindDemo } from './try-it/demo.ts'
import { createTryItRoutes } from './try-it/routes.ts'
import { createUserRoutes } from './users/routes.ts'
import { createUsers } from './users/users.ts'

const DEMO_KNOWN_WITHIN_MS = 3_000
const nowMs = () => Date.now()
const WEB = path.resolve(import.meta.dirname, '../generated/web')

interface ConsoleParts
  extends Pick<ConsoleConfig, 'tokens' | 'publicUrl' | 'demoKeysFile' | 'gatewayUrl' | 'services' | 'kafka'>,
    Pick<ConsoleConfig, 'cliEntry' | 'operatorUrl' | 'commandEnvironment'> {
  readonly connection: LogConnection
  /** The token that services share. */
  readonly internalToken: string
  readonly logger: Logger
}

/** Every route except those of the session itself. A missing one does not compile. */
type SignedInRoutes = Readonly<Record<Exclude<ApiName, keyof typeof sessionApi>, ApiRoute>>

/** Wires the console together. Reads the built pages, and opens nothing else. */
export async function createConsole(parts: ConsoleParts) {
  const { connection, tokens, logger, gatewayUrl } = parts
  const partitionCount = parts.kafka.partitions.keys
  const services = createServices({ addresses: parts.services, token: parts.internalToken })
  const { readRefusals, consumers, processes, projector, evaluator, metering } = services
  const targets = Object.entries(parts.services).flatMap(([service, urls]) => urls.map((url) => ({ service, url })))
  const sampler = createSampler({ targets, scrape, nowMs })
  const site = createSite(parts.publicUrl)
  const sessions = createSessions(nowMs)
  const catalog = createKnownCatalog(connection)
  const findDemo = createFindDemo({ keysFile: parts.demoKeysFile, catalog, logger })
  // Signing in while Kafka is unavailable must not wait for the catalog.
  const hasDemo = async () => (await findDemo()) !== undefined
  const canTry = async () =>
    gatewayUrl !== undefined && Promise.race([hasDemo(), sleep(DEMO_KNOWN_WITHIN_MS, false, { ref: false })])
  const users = createUsers({ connection, projector, evaluator, partitionCount })
  const readProgress = async () => progressOf(await askOperations(processes))
  const feed = createLiveFeed({ connection, readProgress, readRefusals, nowMs, logger })
  const readReachedLimits = createReachedLimits({ catalog, metering, nowMs })
  const commands = createCommands({ ...parts, nowMs })
  const routes: SignedInRoutes = {
    ...createOverviewRoutes({ sampler, readReachedLimits, partitionCount, nowMs }),
    ...createLiveRoutes({ catalog, feed }),
    ...createUserRoutes({ catalog, users, readRefusals, nowMs }),
    ...createFormRoutes({ ...services, catalog, nowMs }),
    ...createSegmentRoutes({ catalog, projector }),
    ...createRegistryRoutes({ ...services, catalog, nowMs }),
    ...createOperationsRoutes({ consumers, processes, partitionCount }),
    ...createDeadLetterRoutes({ consumers, logger }),
    ...createCatalogRoutes(connection),
    ...createTryItRoutes({ findDemo, gatewayUrl }),
    ...commands.routes,
  }
  const app = createApp({
    site,
    sessions,
    routes: Object.values(routes),
    signingIn: createSigningIn({ site, sessions, checkToken: createTokenCheck({ tokens, nowMs }), canTry, logger }),
    webFiles: await readWebFiles(WEB, site.basePath),
    logger,
  })
  return { app, sampler, feed, commands }
}

import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogConnection } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import type { ApiName } from './api-routes.ts'
import { createKnownCatalog } from './catalog/known-catalog.ts'
import { createRevisions } from './catalog/revisions.ts'
import { createCatalogRoutes } from './catalog/routes.ts'
import { createCommands } from './commands/commands.ts'
import type { ConsoleConfig } from './config.ts'
import { createDeadLetters } from './dead-letters/dead-letters.ts'
import { createDeadLetterRoutes } from './dead-letters/routes.ts'
import { createForms } from './forms/forms.ts'
import { createFormRoutes } from './forms/routes.ts'
import type { ApiRoute } from './http/api-route.ts'
import { createApp } from './http/app.ts'
import { createSite } from './http/site.ts'
import { readWebFiles } from './http/web-files.ts'
import { progressOf } from './live/folded-up-to.ts'
import { createLiveFeed } from './live/live-feed.ts'
import { createReadRefusals } from './live/read-refusals.ts'
import { createLiveRoutes } from './live/routes.ts'
import { createSampler } from './metrics/sampler.ts'
import { scrape } from './metrics/scrape.ts'
import { createAskConsumers } from './operations/ask-consumers.ts'
import { createOperationsRoutes } from './operations/routes.ts'
import { createOverviewRoutes } from './overview/routes.ts'
import { createReachedLimits } from './registry/reached-limits.ts'
import { createAskUsage, createReadUsage } from './registry/read-usage.ts'
import { createRegistryRoutes } from './registry/routes.ts'
import { createSegmentRoutes } from './segments/routes.ts'
import { createSegments } from './segments/segments.ts'
import type { sessionApi } from './session/api.ts'
import { createTokenCheck } from './session/check-token.ts'
import { createSigningIn } from './session/routes.ts'
import { createSessions } from './session/sessions.ts'
import { createFindDemo } from './try-it/demo.ts'
import { createTryItRoutes } from './try-it/routes.ts'
import { createUserRoutes } from './users/routes.ts'
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

/** Every route but those of the session itself: a missing one does not compile. */
type SignedInRoutes = Readonly<Record<Exclude<ApiName, keyof typeof sessionApi>, ApiRoute>>

/** Wires the console together. Reads the built pages; opens nothing else. */
export async function createConsole(parts: ConsoleParts) {
  const { connection, services, tokens, logger, internalToken: token } = parts
  const partitionCount = parts.kafka.partitions.keys
  const targets = Object.entries(services).flatMap(([service, urls]) => urls.map((url) => ({ service, url })))
  const sampler = createSampler({ targets, scrape, nowMs })
  const site = createSite(parts.publicUrl)
  const sessions = createSessions(nowMs)
  const catalog = createKnownCatalog(connection)
  const findDemo = createFindDemo({ keysFile: parts.demoKeysFile, catalog, logger })
  // Whoever signs in while Kafka is unavailable wants to see what is wrong, not to wait for the catalog.
  const hasDemo = async () => (await findDemo()) !== undefined
  const canTry = async () =>
    parts.gatewayUrl !== undefined && Promise.race([hasDemo(), sleep(DEMO_KNOWN_WITHIN_MS, false, { ref: false })])
  const users = createUsers({ connection, services, token, partitionCount })
  const consumers = targets.filter(({ service }) => service !== 'gateway')
  const askConsumers = createAskConsumers({ targets: consumers, token })
  const readRefusals = createReadRefusals(services.gateway, token)
  const feed = createLiveFeed({
    connection,
    readProgress: async () => progressOf(await askConsumers()),
    readRefusals,
    nowMs,
    logger,
  })
  const deadLetters = createDeadLetters({ targets: consumers, token })
  const commands = createCommands({ ...parts, nowMs })
  const forms = createForms({ baseUrls: services['form-trigger-evaluator'], token })
  const askUsage = createAskUsage({ baseUrls: services.metering, token })
  const readUsage = createReadUsage(askUsage, nowMs)
  const readReachedLimits = createReachedLimits({ catalog, askUsage, nowMs })
  const segments = createSegments({ baseUrls: services['user-projector'], token })
  const routes: SignedInRoutes = {
    ...createOverviewRoutes({ sampler, readReachedLimits, partitionCount, nowMs }),
    ...createLiveRoutes({ catalog, feed }),
    ...createUserRoutes({ catalog, users, readRefusals, nowMs }),
    ...createFormRoutes({ catalog, forms, nowMs }),
    ...createSegmentRoutes({ catalog, segments }),
    ...createRegistryRoutes({ catalog, readUsage, baseUrls: services['trait-registry'], token }),
    ...createOperationsRoutes({ askConsumers, byCause: deadLetters.byCause, partitionCount }),
    ...createDeadLetterRoutes(deadLetters, logger),
    ...createCatalogRoutes(createRevisions(connection)),
    ...createTryItRoutes({ findDemo, gatewayUrl: parts.gatewayUrl }),
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

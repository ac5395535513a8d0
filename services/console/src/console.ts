import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressesVariable, TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import { createChangeLog } from '@nextvisit/operator-changes'
import type { Logger, RedisConnection } from '@nextvisit/service-kit'
import type { ApiName } from './api-routes.ts'
import { createKnownCatalog, createKnownContents } from './catalog/known-catalog.ts'
import { createCatalogRoutes } from './catalog/routes.ts'
import { createChangeRoutes } from './changes/routes.ts'
import type { ConsoleConfig } from './config.ts'
import { createDeadLetterRoutes } from './dead-letters/routes.ts'
import type { Dependencies } from './dependencies.ts'
import { createErasureRoutes } from './erasures/routes.ts'
import { createFormRoutes } from './forms/routes.ts'
import type { ApiRoute } from './http/api-route.ts'
import { createApp } from './http/app.ts'
import { createSessions } from './http/sessions.ts'
import { createSite } from './http/site.ts'
import { readWebFiles } from './http/web-files.ts'
import { progressOf } from './live/folded-up-to.ts'
import { createLiveFeed } from './live/live-feed.ts'
import { createLiveRoutes } from './live/routes.ts'
import { createShownUsers } from './live/shown-users.ts'
import type { Target } from './metrics/sample.ts'
import { createSampler } from './metrics/sampler.ts'
import { scrape } from './metrics/scrape.ts'
import { readOperations } from './operations/consumer-operations.ts'
import { createOperationsRoutes } from './operations/routes.ts'
import { createCountMembers } from './overview/group-members.ts'
import { createOverviewRoutes } from './overview/routes.ts'
import { createReachedLimits } from './registry/reached-limits.ts'
import { createRegistryRoutes } from './registry/routes.ts'
import { createReplay } from './replay/routes.ts'
import { createSegmentRoutes } from './segments/routes.ts'
import { createServices, type ServiceAddresses, topicOf } from './services.ts'
import type { sessionApi } from './session/api.ts'
import { createIdentityProvider } from './session/identity-provider.ts'
import { createTokenCheck } from './session/check-token.ts'
import { createSessionRouter } from './session/routes.ts'
import { createSimulation } from './simulation/routes.ts'
import { createFindDemo } from './try-it/demo.ts'
import { createTryItRoutes } from './try-it/routes.ts'
import { createUserExport } from './users/export-user.ts'
import { createUserRoutes } from './users/routes.ts'
import { createUsers } from './users/users.ts'
import { createWebhookRoutes } from './webhooks/routes.ts'

const DEMO_KNOWN_WITHIN_MS = 3_000
const nowMs = () => Date.now()
const WEB = path.resolve(import.meta.dirname, '../generated/web')

interface ConsoleParts
  extends Pick<
      ConsoleConfig,
      'tokens' | 'openId' | 'publicUrl' | 'demoKeysFile' | 'gatewayUrl' | 'services' | 'kafka' | 'keyRing'
    >,
    Pick<ConsoleConfig, 'cliEntry' | 'operatorUrl' | 'replayFile' | 'commandEnvironment'> {
  readonly connection: LogConnection
  readonly redis: RedisConnection['client']
  /** The token that services share. */
  readonly internalToken: string
  /** It, and others during a rotation. */
  readonly acceptedTokens: readonly string[]
  readonly logger: Logger
}

/** Every route except the session routes. A missing one does not compile. */
type SignedInRoutes = Readonly<Record<Exclude<ApiName, keyof typeof sessionApi>, ApiRoute>>

/** Wires the console together. Reads the built pages, and opens nothing else. */
export async function createConsole(parts: ConsoleParts) {
  const { connection, tokens, openId, redis, logger, gatewayUrl } = parts
  const dependencies: Dependencies = {
    ...createServices(parts.services, parts.internalToken),
    connection,
    keyRing: parts.keyRing,
    catalog: createKnownCatalog(connection),
    contents: createKnownContents(connection),
    partitionCount: parts.kafka.partitions.keyPartitions,
    nowMs,
    logger,
  }
  const changes = createChangeLog(connection, { source: 'console', logger })
  const sampler = createSampler({ readTargets: () => targetsOf(parts.services), scrape, nowMs })
  const readProgress = async () => {
    const processes = await dependencies.processes()
    return progressOf(await readOperations(processes.filter(({ service }) => topicOf(service) === TOPICS.userEvents)))
  }
  const shownUsers = createShownUsers({ ...dependencies.projector, nowMs })
  const feed = createLiveFeed({ ...dependencies, readProgress, shownUsers })
  const findDemo = createFindDemo({ ...dependencies, keysFile: parts.demoKeysFile })
  const cli =
    parts.cliEntry === undefined ? undefined : { entry: parts.cliEntry, environment: parts.commandEnvironment }
  const replay = createReplay({ ...parts, cli, nowMs })
  const simulation = createSimulation({ cli, nowMs, logger })
  const userExport = createUserExport({ cli, environment: serviceEnvironment(parts), logger })
  const routes: SignedInRoutes = {
    ...createOverviewRoutes({
      ...dependencies,
      readSamples: sampler.read,
      readReachedLimits: createReachedLimits(dependencies),
      countMembers: createCountMembers(connection),
    }),
    ...createLiveRoutes({ ...dependencies, feed, shownUsers }),
    ...createUserRoutes({ ...dependencies, users: createUsers(dependencies), exportUser: userExport.start }),
    ...createErasureRoutes(dependencies),
    ...createFormRoutes(dependencies),
    ...simulation.routes,
    ...createSegmentRoutes(dependencies),
    ...createWebhookRoutes(dependencies),
    ...createRegistryRoutes(dependencies),
    ...createOperationsRoutes(dependencies),
    ...createDeadLetterRoutes(dependencies),
    ...replay.routes,
    ...createCatalogRoutes(dependencies),
    ...createChangeRoutes(dependencies),
    ...createTryItRoutes({ findDemo, gatewayUrl }),
  }

  /** Signing in while Kafka is unavailable must not wait for the catalog. */
  async function canTry(): Promise<boolean> {
    if (gatewayUrl === undefined) return false
    const hasDemo = findDemo().then((demo) => demo !== undefined)
    return Promise.race([hasDemo, sleep(DEMO_KNOWN_WITHIN_MS, false, { ref: false })])
  }

  const site = createSite(parts.publicUrl)
  const sessions = createSessions({ redis, nowMs, tokens, logger })
  const hasTokens = tokens.operator !== undefined || tokens.viewer !== undefined
  const withProvider = (own: NonNullable<ConsoleConfig['openId']>, base: URL) => {
    return {
      ...own,
      base,
      secrets: parts.acceptedTokens,
      provider: createIdentityProvider({ openId: own, base, nowMs, logger }),
    }
  }
  const app = createApp({
    site,
    sessions,
    routes: Object.values(routes),
    sessionRouter: createSessionRouter({
      site,
      sessions,
      checkToken: hasTokens ? createTokenCheck(tokens, nowMs) : undefined,
      openId: openId && site.base && withProvider(openId, site.base),
      canTry,
      nowMs,
      logger,
    }),
    changes,
    webFiles: await readWebFiles(WEB, site.basePath),
    logger,
  })
  const commands = {
    /** Resumes the replay that the last process has left. */
    start: async () => replay.resume(),
    /** Ends running commands. An interrupted replay is safe. */
    stop: async (): Promise<void> =>
      void (await Promise.all([replay.close(), simulation.close(), userExport.close(), changes.stop()])),
  }
  return { app, sampler, feed, commands }
}

/** Returns every process of every service. */
async function targetsOf(services: ServiceAddresses): Promise<readonly Target[]> {
  const targets = await Promise.all(
    Object.entries(services).map(async ([service, addresses]) =>
      (await addresses.each()).map((url) => ({ service, url })),
    ),
  )
  return targets.flat()
}

/** Returns the settings that a command needs to ask the services. */
function serviceEnvironment({
  services,
  internalToken,
}: Pick<ConsoleParts, 'services' | 'internalToken'>): Readonly<Record<string, string>> {
  const addresses = Object.entries(services).map(([service, { entries }]) => [
    addressesVariable(service),
    entries.join(','),
  ])
  return { INTERNAL_TOKEN: internalToken, ...Object.fromEntries(addresses) }
}

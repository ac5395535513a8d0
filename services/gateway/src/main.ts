import { randomUUID } from 'node:crypto'
import { CatalogViewStoppedError, createCatalogMetrics, createCatalogView, describeProblem } from '@nextvisit/catalog'
import { createPublisher } from '@nextvisit/log'
import {
  clusterCheckOf,
  configOrExit,
  createLogger,
  createMetrics,
  createPublishMetrics,
  createRedis,
  createRedisSubscriber,
  internalServerParts,
  runService,
  startTracing,
  tracingParts,
} from '@nextvisit/service-kit'
import { createErasureMetrics, createErasureView } from '@nextvisit/user-keys'
import { readGatewayConfig } from './config.ts'
import { createGatewayMetrics, createSecretMetrics } from './gateway-metrics.ts'
import { createGateway } from './gateway.ts'
import { publishTimeoutMs } from './http/request-budget.ts'
import { createHttpServer } from './http/http-server.ts'
import { loadCountries } from './ingest/caller-country.ts'
import { describeUndecryptable } from './ingest/signing-secrets.ts'

/** Maximum duration of a stop after the delay. */
const STOP_WITHIN_MS = 10_000

const config = configOrExit(readGatewayConfig)
const logger = createLogger('gateway', config.logLevel)
const instanceId = randomUUID()
const connection = { ...config.kafka, clientId: `nextvisit-gateway-${instanceId}` }
const metrics = createMetrics('gateway', { isTraced: config.tracing !== undefined })
const tracing = await startTracing(config.tracing, { service: 'gateway', logger, metrics })

const catalog = createCatalogView(connection, {
  serviceName: 'gateway',
  logger,
  secretKeyIds: config.keyRing.keyIds,
  withFormContents: true,
})
createCatalogMetrics(metrics, catalog)
const erasures = createErasureView(connection, { logger })
createErasureMetrics(metrics, erasures)
const publisher = createPublisher(connection, {
  requestTimeoutMs: publishTimeoutMs(config.requestBudgetMs),
  logger,
  onRequest: createPublishMetrics(metrics, tracing),
})
const redis = createRedis({ url: config.redisUrl, name: 'gateway', logger })
const subscriber = createRedisSubscriber({ url: config.redisUrl, name: 'gateway-replies', logger })
const gateway = createGateway({
  ...config,
  instanceId,
  catalog,
  erasures,
  connection,
  publisher,
  redis: redis.client,
  subscriber: subscriber.client,
  internalToken: config.internalServer.token,
  countryOf: loadCountries(),
  isStopping: () => server.isStopping(),
  metrics: createGatewayMetrics(metrics),
  tracing,
  logger,
})
createSecretMetrics(metrics, gateway.undecryptableSecrets)
const clusterCheck = clusterCheckOf(connection, {
  mode: config.mode,
  locally: 'warn',
  logger,
  onUnsafe: (error) => service.fail(error),
})
const internalServer = internalServerParts({
  ...config.internalServer,
  routes: gateway.internalRoutes,
  isLive: () => ({ status: 'available' }),
  isReady: () => {
    const reasons = gateway.notReadyReasons()
    if (reasons.length > 0) return { status: 'unavailable', because: reasons.join('; ') }
    const undecryptable = gateway.undecryptableSecrets().map(describeUndecryptable)
    return { status: 'available', alarms: [...catalog.problems().map(describeProblem), ...undecryptable] }
  },
  metrics,
  tracing,
  logger,
})
const server = createHttpServer({
  ...config,
  delayMs: config.shutdownDelayMs,
  portVariable: 'GATEWAY_PORT',
  listener: gateway.listener,
})

const onCatalogFailed = (error: unknown): void => {
  if (!(error instanceof CatalogViewStoppedError)) service.fail(error)
}

const service = runService({
  logger,
  stopWithinMs: STOP_WITHIN_MS + config.shutdownDelayMs,
  parts: [
    ...tracingParts(tracing),
    internalServer.listening,
    { name: 'cluster check', ...clusterCheck },
    { name: 'redis', ...redis },
    { name: 'replies', ...subscriber },
    { name: 'log', ...gateway.userEvents },
    // Not awaited: until the catalog is read, requests get 503 and /readyz says why.
    { name: 'catalog', start: async () => void catalog.start().catch(onCatalogFailed), stop: catalog.stop },
    { name: 'erasures', ...erasures },
    // Without the addresses, the first requests would be admitted unchecked.
    { name: 'service clients', start: gateway.lookUpServices, stop: gateway.stop },
    internalServer.calls,
    {
      name: 'server',
      start: async () => {
        const { port } = await server.start()
        logger.info({ host: config.host, port }, 'listening')
      },
      stop: server.stop,
    },
  ],
})

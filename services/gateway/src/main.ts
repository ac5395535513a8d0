import { randomUUID } from 'node:crypto'
import { CatalogViewStoppedError, createCatalogMetrics, createCatalogView, describeProblem } from '@nextvisit/catalog'
import { createPublisher } from '@nextvisit/log'
import {
  clusterCheckOf,
  configOrExit,
  createInternalServer,
  createLogger,
  createMetrics,
  createPublishMetrics,
  createRedis,
  createRedisSubscriber,
  runService,
} from '@nextvisit/service-kit'
import { createErasureMetrics, createErasureView } from '@nextvisit/user-keys'
import { readGatewayConfig } from './config.ts'
import { createGatewayMetrics, createSecretMetrics } from './gateway-metrics.ts'
import { createGateway } from './gateway.ts'
import { publishTimeoutMs } from './http/request-budget.ts'
import { createHttpServer } from './http/http-server.ts'
import { loadCountries } from './ingest/caller-country.ts'
import { describeUndecryptable } from './ingest/signing-secrets.ts'

const config = configOrExit(readGatewayConfig)
const logger = createLogger('gateway', config.logLevel)
const instanceId = randomUUID()
const connection = { ...config.kafka, clientId: `nextvisit-gateway-${instanceId}` }
const metrics = createMetrics('gateway')

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
  onRequest: createPublishMetrics(metrics),
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
  metrics: createGatewayMetrics(metrics),
  logger,
})
createSecretMetrics(metrics, gateway.undecryptableSecrets)
const clusterCheck = clusterCheckOf(connection, {
  mode: config.mode,
  locally: 'warn',
  logger,
  onUnsafe: (error) => service.fail(error),
})
const internalServer = createInternalServer({
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
  logger,
})
const server = createHttpServer({ ...config, portVariable: 'GATEWAY_PORT', listener: gateway.listener })

const onCatalogFailed = (error: unknown): void => {
  if (!(error instanceof CatalogViewStoppedError)) service.fail(error)
}

const service = runService({
  logger,
  parts: [
    { name: 'internal server', ...internalServer },
    { name: 'cluster check', ...clusterCheck },
    { name: 'redis', ...redis },
    { name: 'replies', ...subscriber },
    { name: 'log', ...gateway.userEvents },
    // Not awaited: until the catalog is read, requests get 503 and /readyz says why.
    { name: 'catalog', start: async () => void catalog.start().catch(onCatalogFailed), stop: catalog.stop },
    { name: 'erasures', ...erasures },
    { name: 'service clients', start: () => Promise.resolve(), stop: gateway.stop },
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

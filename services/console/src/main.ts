import {
  configOrExit,
  createInternalServer,
  createLogger,
  createMetrics,
  createRedis,
  runService,
} from '@nextvisit/service-kit'
import { readConsoleConfig } from './config.ts'
import { createConsole } from './console.ts'
import { createHttpServer } from './http/http-server.ts'

const config = configOrExit(readConsoleConfig)
const logger = createLogger('console', config.logLevel)
const connection = { ...config.kafka, clientId: 'nextvisit-console' }
/** A slower answer is no answer: the page then says that Redis is unavailable. */
const REDIS_TIMEOUT_MS = 1_000
const redis = createRedis({
  url: config.redisUrl,
  name: 'console',
  logger,
  commandTimeoutMs: REDIS_TIMEOUT_MS,
  outage: 'nobody is recognized until it is back',
})
const { app, sampler, feed, commands } = await createConsole({
  ...config,
  connection,
  redis: redis.client,
  internalToken: config.internalServer.token,
  acceptedTokens: config.internalServer.acceptedTokens,
  logger,
})
const internalServer = createInternalServer({
  ...config.internalServer,
  routes: [],
  // The console reports on other services, so it is ready without them.
  isLive: () => ({ status: 'available' }),
  isReady: () => ({ status: 'available' }),
  metrics: createMetrics('console'),
  logger,
})
/** The server for browsers. */
const server = createHttpServer({ host: config.host, port: config.port, listener: app })

runService({
  logger,
  parts: [
    { name: 'sampler', ...sampler },
    { name: 'redis', ...redis },
    // It starts on demand.
    { name: 'live', start: () => Promise.resolve(), stop: feed.stop },
    { name: 'commands', ...commands },
    {
      name: 'server',
      start: async () => {
        const { port } = await server.start()
        logger.info({ host: config.host, port }, 'listening')
      },
      stop: server.stop,
    },
    // Last: it reports readiness, which requires the pages.
    { name: 'internal server', ...internalServer },
  ],
})

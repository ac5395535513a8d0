import { createServer } from 'node:http'
import {
  configOrExit,
  createHttpPart,
  createInternalServer,
  createLogger,
  createMetrics,
  runService,
} from '@nextvisit/service-kit'
import { readConsoleConfig } from './config.ts'
import { createConsole } from './console.ts'

const config = configOrExit(readConsoleConfig)
const logger = createLogger('console', config.logLevel)
const connection = { ...config.kafka, clientId: 'nextvisit-console' }
const { app, sampler, feed, stopCommands } = await createConsole({
  ...config,
  connection,
  internalToken: config.internalServer.token,
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
const server = createHttpPart(createServer({ headersTimeout: 5_000, requestTimeout: 10_000 }, app), {
  host: config.host,
  port: config.port,
  portVariable: 'CONSOLE_PORT',
  withinMs: 3_000,
})

runService({
  logger,
  parts: [
    { name: 'sampler', ...sampler },
    // These start on demand.
    { name: 'live', start: () => Promise.resolve(), stop: feed.stop },
    { name: 'commands', start: () => Promise.resolve(), stop: stopCommands },
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

import { createCatalogView } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { createAdapter } from '@nextvisit/database'
import { createLogAdmin, createPublisher } from '@nextvisit/log'
import { consumerHealth, createBarrier, createPartitionCounts, createProjectionRunner } from '@nextvisit/projection'
import {
  clusterCheckOf,
  configOrExit,
  createInternalServer,
  createLogger,
  createMetrics,
  createPublishMetrics,
  createRedis,
  runService,
} from '@nextvisit/service-kit'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { readEvaluatorConfig } from './config.ts'
import { createFormTriggerProjection } from './form-trigger-projection.ts'
import { createReplyPublisher } from './reply-publisher.ts'
import { createRoutes } from './routes.ts'

const NAME = 'form-trigger-evaluator'
const STOP_PUBLISHING_WITHIN_MS = 2_000

const config = configOrExit(readEvaluatorConfig)
const logger = createLogger(NAME, config.logLevel)
const metrics = createMetrics(NAME)
const connection = { ...config.kafka, clientId: `nextvisit-${NAME}` }

const adapter = createAdapter({ url: config.databaseUrl, schema: 'forms', applicationName: `nextvisit-${NAME}` })
const prisma = new PrismaClient({ adapter })
const redis = createRedis({ url: config.redisUrl, name: NAME, logger })
const catalog = createCatalogView(connection, { serviceName: NAME, logger })
const publisher = createPublisher(connection, { logger, onRequest: createPublishMetrics(metrics) })
const logAdmin = createLogAdmin(connection, { logger })
const projection = createFormTriggerProjection({ publishReplies: createReplyPublisher(redis.client, logger) })
const barrier = createBarrier({ db: prisma, logAdmin, projection: projection.name, topic: TOPICS.userEvents })
const countOf = createPartitionCounts(logAdmin)
const runner = createProjectionRunner({
  projection,
  db: prisma,
  connection,
  catalog,
  publisher,
  logger,
  now: () => new Date(),
  lingerMs: 0,
  metrics,
  serviceVersion: packageJson.version,
  onFailure: (error) => service.fail(error),
})
const clusterCheck = clusterCheckOf(connection, {
  mode: config.mode,
  logger,
  onUnsafe: (error) => service.fail(error),
})
const server = createInternalServer({
  ...config.internalServer,
  routes: createRoutes({ prisma, barrier, countPartitions: () => countOf(TOPICS.userEvents) }),
  ...consumerHealth({ runner, catalog, db: prisma }),
  metrics,
  logger,
})

const service = runService({
  logger,
  parts: [
    { name: 'database', start: () => Promise.resolve(), stop: () => prisma.$disconnect() },
    { name: 'internal server', ...server },
    { name: 'cluster check', ...clusterCheck },
    { name: 'redis', ...redis },
    { name: 'log', start: logAdmin.connect, stop: logAdmin.disconnect },
    { name: 'catalog', ...catalog },
    { name: 'publisher', start: publisher.start, stop: () => publisher.stop(STOP_PUBLISHING_WITHIN_MS) },
    { name: 'projection', ...runner },
  ],
})

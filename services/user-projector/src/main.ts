import { createCatalogView } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { createAdapter } from '@nextvisit/database'
import { createLogAdmin } from '@nextvisit/log'
import { consumerHealth, createBarrier, createPartitionCounts, createProjectionRunner } from '@nextvisit/projection'
import {
  clusterCheckOf,
  configOrExit,
  Counter,
  createInternalServer,
  createLogger,
  createMetrics,
  runService,
} from '@nextvisit/service-kit'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { readUserProjectorConfig } from './config.ts'
import { createRoutes } from './routes.ts'
import { createUserProjection } from './user-projection.ts'

const config = configOrExit(readUserProjectorConfig)
const logger = createLogger('user-projector', config.logLevel)
const metrics = createMetrics('user-projector')
const connection = { ...config.kafka, clientId: 'nextvisit-user-projector' }
const skippedIncrements = new Counter({
  name: 'skipped_increments_total',
  help: 'Increments of traits that are not numbers',
  registers: [metrics],
})

const adapter = createAdapter({ url: config.databaseUrl, schema: 'users', applicationName: 'nextvisit-user-projector' })
const prisma = new PrismaClient({ adapter })
const catalog = createCatalogView(connection, { serviceName: 'user-projector', logger })
const logAdmin = createLogAdmin(connection, { logger })
const projection = createUserProjection({ onSkippedIncrements: (count) => skippedIncrements.inc(count) })
const barrier = createBarrier({ db: prisma, logAdmin, projection: projection.name, topic: TOPICS.userEvents })
const countOf = createPartitionCounts(logAdmin)
const runner = createProjectionRunner({
  projection,
  db: prisma,
  connection,
  catalog,
  logger,
  now: () => new Date(),
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
    { name: 'log', start: logAdmin.connect, stop: logAdmin.disconnect },
    { name: 'catalog', ...catalog },
    { name: 'projection', ...runner },
  ],
})

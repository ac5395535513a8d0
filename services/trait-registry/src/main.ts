import { createCatalogView } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { createAdapter } from '@nextvisit/database'
import { createLogAdmin } from '@nextvisit/log'
import { consumerHealth, createPartitionCounts, createProjectionRunner } from '@nextvisit/projection'
import {
  clusterCheckOf,
  configOrExit,
  createInternalServer,
  createLogger,
  createMetrics,
  runService,
} from '@nextvisit/service-kit'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { readTraitRegistryConfig } from './config.ts'
import { createRegistryProjection } from './registry-projection.ts'
import { createRoutes } from './routes.ts'

const config = configOrExit(readTraitRegistryConfig)
const logger = createLogger('trait-registry', config.logLevel)
const metrics = createMetrics('trait-registry')
const connection = { ...config.kafka, clientId: 'nextvisit-trait-registry' }
const now = () => new Date()

const adapter = createAdapter({
  url: config.databaseUrl,
  schema: 'registry',
  applicationName: 'nextvisit-trait-registry',
})
const prisma = new PrismaClient({ adapter })
const catalog = createCatalogView(connection, { serviceName: 'trait-registry', logger })
const logAdmin = createLogAdmin(connection, { logger })
const countOf = createPartitionCounts(logAdmin)
const runner = createProjectionRunner({
  projection: createRegistryProjection({ countPartitions: () => countOf(TOPICS.userEvents) }),
  db: prisma,
  connection,
  catalog,
  logger,
  now,
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
  routes: createRoutes({ prisma, now }),
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

import { createCatalogView } from '@nextvisit/catalog'
import { createAdapter } from '@nextvisit/database'
import { consumerHealth, createProjectionRunner } from '@nextvisit/projection'
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
import { readMeteringConfig } from './config.ts'
import { meteringProjection } from './metering-projection.ts'
import { createRoutes } from './routes.ts'

const config = configOrExit(readMeteringConfig)
const logger = createLogger('metering', config.logLevel)
const metrics = createMetrics('metering')
const connection = { ...config.kafka, clientId: 'nextvisit-metering' }
const now = () => new Date()

const adapter = createAdapter({ url: config.databaseUrl, schema: 'metering', applicationName: 'nextvisit-metering' })
const prisma = new PrismaClient({ adapter })
const catalog = createCatalogView(connection, { serviceName: 'metering', logger })
const runner = createProjectionRunner({
  projection: meteringProjection,
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
  routes: createRoutes({ prisma, catalog, now }),
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
    { name: 'catalog', ...catalog },
    { name: 'projection', ...runner },
  ],
})

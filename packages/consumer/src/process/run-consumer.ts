import { createCatalogMetrics, createCatalogView } from '@nextvisit/catalog'
import { consumerCalls } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { createLogAdmin, createPublisher } from '@nextvisit/log'
import {
  clusterCheckOf,
  configOrExit,
  createInternalServer,
  createLogger,
  createMetrics,
  createPublishMetrics,
  runService,
  serveCalls,
} from '@nextvisit/service-kit'
import { createPartitionCounts } from '../assign/partition-counts.ts'
import { createBarrier } from '../queries/barrier.ts'
import { readConsumerConfig } from './config.ts'
import { answerDeadLetters } from '../dead-letters/answer-dead-letters.ts'
import type { Consumer } from './define-consumer.ts'
import { forbidPretenuring } from './forbid-pretenuring.ts'
import { openPools } from './open-pools.ts'
import { createProjectionRunner } from './projection-runner.ts'
import { createReplies } from '../replies/create-replies.ts'
import { consumerHealth } from './consumer-health.ts'
import { answerOperations } from './answer-operations.ts'

const STOP_PUBLISHING_WITHIN_MS = 2_000
function now(): Date {
  return new Date()
}

/**
 * Runs a consumer as this process until SIGTERM or SIGINT, or until a part fails (see `runService`). Ends the process with
 * 2 if its configuration is wrong.
 */
export async function runConsumer(consumer: Consumer): Promise<void> {
  forbidPretenuring()
  const { name, version: serviceVersion, isAwaited } = consumer
  const config = configOrExit(() => readConsumerConfig(consumer))
  const logger = createLogger(name, config.logLevel)
  const metrics = createMetrics(name)
  const clientId = `nextvisit-${name}`
  const connection = { ...config.kafka, clientId }
  const onFailure = (error: Error): void => service.fail(error)

  const pools = await openPools(consumer, { ...config, clientId, metrics })
  const { foldDb, upkeepDb, admissionDb, readDb } = pools
  const { publishReplies, ...replies } = createReplies({ ...config, name, foldDb, logger })
  const catalog = createCatalogView(connection, { serviceName: name, logger })
  createCatalogMetrics(metrics, catalog)
  const publisher =
    consumer.published && createPublisher(connection, { logger, onRequest: createPublishMetrics(metrics) })
  const logAdmin = createLogAdmin(connection, { logger })
  const { keysOf } = createPartitionCounts(logAdmin, connection.partitions)
  const countPartitions = () => keysOf(projection.topic)
  const projection = consumer.projection({ metrics, countPartitions, publishReplies })
  const fetchNow = (): void => runner.fetchNow()
  const barrier = createBarrier({
    db: admissionDb,
    logAdmin,
    fetchNow,
    projection: projection.name,
    topic: projection.topic,
  })
  const runner = createProjectionRunner({
    projection,
    foldDb,
    upkeepDb,
    connection,
    catalog,
    logger,
    now,
    metrics,
    serviceVersion,
    onFailure,
    ...(publisher && { publisher }),
    ...(consumer.gatherMs !== undefined && { gatherMs: consumer.gatherMs }),
    ...(isAwaited && { isAwaited }),
  })
  replies.hearAwaited(runner.fetchUpTo)
  const clusterCheck = clusterCheckOf(connection, { mode: config.mode, logger, onUnsafe: onFailure })
  const server = createInternalServer({
    ...config.internalServer,
    routes: [
      ...consumer.routes({ db: admissionDb, readDb, catalog, now, barrier, fetchNow, countPartitions }),
      ...serveCalls(consumerCalls, {
        ...answerOperations(runner),
        ...answerDeadLetters(projection.name, readDb),
      }),
    ],
    ...consumerHealth({ runner, catalog, db: upkeepDb }),
    metrics,
    logger,
  })

  const service = runService({
    logger,
    parts: [
      ...Object.values(pools).map((one: Db) => ({
        name: 'database',
        start: () => Promise.resolve(),
        stop: () => one.$disconnect(),
      })),
      { name: 'internal server', ...server },
      { name: 'cluster check', ...clusterCheck },
      ...replies.parts,
      { name: 'log', start: logAdmin.connect, stop: logAdmin.disconnect },
      { name: 'catalog', ...catalog },
      ...(publisher
        ? [{ name: 'publisher', start: publisher.start, stop: () => publisher.stop(STOP_PUBLISHING_WITHIN_MS) }]
        : []),
      { name: 'projection', ...runner },
    ],
  })
}

import { createCatalogMetrics, createCatalogView } from '@nextvisit/catalog'
import { consumerCalls } from '@nextvisit/contracts'
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
import { answerDeadLetters } from '../dead-letters/answer-dead-letters.ts'
import { readFoldedKeyPartitions } from '../fold/checkpoint.ts'
import { createBarrier } from '../queries/barrier.ts'
import { createReplySender } from '../replies/reply-sender.ts'
import { answerPersonalData } from '../queries/answer-personal-data.ts'
import { answerOperations } from './answer-operations.ts'
import { readConsumerConfig } from './config.ts'
import { consumerHealth } from './consumer-health.ts'
import type { Consumer } from './define-consumer.ts'
import { forbidPretenuring } from './forbid-pretenuring.ts'
import { openPools, poolParts } from './open-pools.ts'
import { createProjectionRunner } from './projection-runner.ts'

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
  const { name, version: serviceVersion, isAwaited, fetchPauseMs } = consumer
  const config = configOrExit(() => readConsumerConfig(consumer))
  const logger = createLogger(name, config.logLevel)
  const metrics = createMetrics(name)
  const clientId = `nextvisit-${name}`
  const connection = { ...config.kafka, clientId }
  const onFailure = (error: Error): void => service.fail(error)

  const pools = await openPools(consumer, { ...config, clientId, metrics })
  const { foldDb, upkeepDb, admissionDb, readDb } = pools
  const catalog = createCatalogView(connection, { serviceName: name, logger })
  createCatalogMetrics(metrics, catalog)
  const publisher = consumer.published
    ? createPublisher(connection, { logger, onRequest: createPublishMetrics(metrics) })
    : undefined
  const logAdmin = createLogAdmin(connection, { logger })
  const partitionCounts = createPartitionCounts(logAdmin, connection.partitions, () =>
    readFoldedKeyPartitions(upkeepDb, name),
  )
  // Without the checkpoints, whose connections slow ticks may hold.
  const countKeyPartitions = () => partitionCounts.keyPartitionsInLog(projection.topic)
  const replySender = createReplySender({ ...config, name, foldDb, logger })
  const projection = consumer.projection({ metrics, countKeyPartitions, publishReplies: replySender.publishReplies })
  const runner = createProjectionRunner({
    projection,
    foldDb,
    upkeepDb,
    connection,
    logAdmin,
    partitionCounts,
    catalog,
    logger,
    now,
    metrics,
    serviceVersion,
    onFailure,
    publisher,
    fetchPauseMs,
    isAwaited,
  })
  replySender.hearAwaited(runner.fetchAwaited)
  const { fetchNow } = runner
  const barrier = createBarrier({ db: admissionDb, logAdmin, fetchNow, projection: name, topic: projection.topic })
  const personalData = answerPersonalData({ readDb, barrier, countKeyPartitions })
  const clusterCheck = clusterCheckOf(connection, { mode: config.mode, logger, onUnsafe: onFailure })
  const server = createInternalServer({
    ...config.internalServer,
    routes: [
      ...consumer.routes({ db: admissionDb, readDb, catalog, now, barrier, fetchNow, countKeyPartitions }),
      ...serveCalls(consumerCalls, {
        ...answerOperations(runner),
        ...answerDeadLetters(name, readDb),
        ...personalData,
      }),
    ],
    ...consumerHealth({ runner, catalog, db: upkeepDb }),
    metrics,
    logger,
  })

  const service = runService({
    logger,
    parts: [
      ...poolParts(pools),
      { name: 'internal server', ...server },
      { name: 'cluster check', ...clusterCheck },
      ...replySender.parts,
      { name: 'log', start: logAdmin.connect, stop: logAdmin.disconnect },
      { name: 'catalog', ...catalog },
      ...(publisher
        ? [{ name: 'publisher', start: publisher.start, stop: () => publisher.stop(STOP_PUBLISHING_WITHIN_MS) }]
        : []),
      { name: 'projection', ...runner },
    ],
  })
}

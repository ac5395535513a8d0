import { type CatalogView, createCatalogMetrics, createCatalogView } from '@nextvisit/catalog'
import { consumerCalls, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { createLogAdmin, createPublisher, type LogAdmin, type LogConnection, type Publisher } from '@nextvisit/log'
import {
  clusterCheckOf,
  configOrExit,
  createLogger,
  createMetrics,
  createPublishMetrics,
  internalServerParts,
  type Logger,
  runService,
  serveCalls,
  type ServicePart,
  startTracing,
  type Tracing,
  tracingParts,
} from '@nextvisit/service-kit'
import type { Registry } from 'prom-client'
import { createPartitionCounts } from '../assign/partition-counts.ts'
import { answerDeadLetters } from '../dead-letters/answer-dead-letters.ts'
import { readFoldedKeyPartitions } from '../fold/checkpoint.ts'
import { createUserKeys } from '../fold/user-keys.ts'
import { createBarrier } from '../queries/barrier.ts'
import { createReplySender } from '../replies/reply-sender.ts'
import { answerErasedUsers } from '../queries/answer-erased-users.ts'
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

/** The parts of a consumer's process that its own work may use. */
export interface WorkParts {
  readonly db: CommitDb
  readonly catalog: CatalogView
  readonly connection: LogConnection
  /** Is connected while the work runs. */
  readonly logAdmin: LogAdmin
  /** Present in a consumer with an outbox. */
  readonly publisher: Publisher | undefined
  /** Returns the number of partitions that a topic's keys are spread over. */
  readonly countKeyPartitions: (topic: string) => Promise<number>
  /** Returns true while this process owns the partition of the projection's topic. */
  readonly owns: (partition: number) => boolean
  /** Publishes new rows of the outbox soon. */
  readonly drainSoon: () => void
  readonly logger: Logger
  readonly metrics: Registry
  /** Absent: traces are not exported. */
  readonly tracing?: Tracing | undefined
  readonly now: () => Date
}

interface RunConsumerOptions {
  /** Creates parts that the process runs in addition to the fold. They start last and stop first. */
  readonly createWork?: (parts: WorkParts) => readonly ServicePart[]
  /** Ids of the keys in NEXTVISIT_SECRET_KEY, if the work opens secrets of the catalog with them. */
  readonly secretKeyIds?: readonly string[]
}

/**
 * Runs a consumer as this process until SIGTERM or SIGINT, or until a part fails (see `runService`). Ends the process with
 * 2 if its configuration is wrong.
 */
export async function runConsumer(
  consumer: Consumer,
  { createWork, secretKeyIds }: RunConsumerOptions = {},
): Promise<void> {
  forbidPretenuring()
  const { name, version: serviceVersion, isAwaited, fetchPauseMs } = consumer
  const config = configOrExit(() => readConsumerConfig(consumer))
  const logger = createLogger(name, config.logLevel)
  const metrics = createMetrics(name, { isTraced: config.tracing !== undefined })
  const tracing = await startTracing(config.tracing, { service: name, logger, metrics })
  const clientId = `nextvisit-${name}`
  const connection = { ...config.kafka, clientId }
  const onFailure = (error: Error): void => service.fail(error)

  const pools = await openPools(consumer, { ...config, clientId, metrics })
  const { foldDb, upkeepDb, admissionDb, readDb } = pools
  const catalog = createCatalogView(connection, { serviceName: name, logger, ...(secretKeyIds && { secretKeyIds }) })
  createCatalogMetrics(metrics, catalog)
  const { published, publishes, notePublished, outboxPauseMs } = consumer
  const publisher =
    published || publishes || notePublished
      ? createPublisher(connection, { logger, onRequest: createPublishMetrics(metrics, tracing) })
      : undefined
  const logAdmin = createLogAdmin(connection, { logger })
  const partitionCounts = createPartitionCounts(logAdmin, connection.partitions, () =>
    readFoldedKeyPartitions(upkeepDb, name),
  )
  // Without the checkpoints, whose connections slow ticks may hold.
  const countKeyPartitions = () => partitionCounts.keyPartitionsInLog(projection.topic)
  const replySender = createReplySender({ ...config, name, foldDb, logger })
  const projection = consumer.projection({ metrics, countKeyPartitions, publishReplies: replySender.publishReplies })
  const userKeys =
    config.keyRing &&
    createUserKeys({
      ring: config.keyRing,
      projection: name,
      topic: USER_KEYS_TOPIC,
      connection,
      readMarks: logAdmin.watermarks,
      logger,
    })
  const runner = createProjectionRunner({
    projection,
    userKeys,
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
    notePublished,
    outboxPauseMs,
    fetchPauseMs,
    isAwaited,
    tracing,
  })
  replySender.hearAwaited(runner.fetchAwaited)
  const { fetchNow } = runner
  const barrier = createBarrier({ db: admissionDb, logAdmin, fetchNow, projection: name, topic: projection.topic })
  const personalData = answerPersonalData({ readDb, barrier, countKeyPartitions })
  const clusterCheck = clusterCheckOf(connection, { mode: config.mode, logger, onUnsafe: onFailure })
  const server = internalServerParts({
    ...config.internalServer,
    routes: [
      ...consumer.routes({ db: admissionDb, readDb, catalog, now, barrier, fetchNow, countKeyPartitions }),
      ...serveCalls(consumerCalls, {
        ...answerOperations(runner),
        ...answerDeadLetters(name, readDb),
        ...personalData,
        ...answerErasedUsers(projection, readDb),
      }),
    ],
    ...consumerHealth({ runner, catalog, db: upkeepDb }),
    metrics,
    tracing,
    logger,
  })

  const service = runService({
    logger,
    parts: [
      ...tracingParts(tracing),
      ...poolParts(pools),
      server.listening,
      { name: 'cluster check', ...clusterCheck },
      ...replySender.parts,
      { name: 'log', start: logAdmin.connect, stop: logAdmin.disconnect },
      { name: 'catalog', ...catalog },
      // Calls need the parts before it. The parts behind it stop first: the group is left at once.
      server.calls,
      ...(publisher
        ? [{ name: 'publisher', start: publisher.start, stop: () => publisher.stop(STOP_PUBLISHING_WITHIN_MS) }]
        : []),
      { name: 'user keys', start: () => Promise.resolve(), stop: async () => userKeys?.stop() },
      { name: 'projection', ...runner },
      ...(createWork?.({
        db: upkeepDb,
        catalog,
        connection,
        logAdmin,
        publisher,
        countKeyPartitions: partitionCounts.keyPartitionsOf,
        owns: runner.owns,
        drainSoon: runner.drainSoon,
        logger,
        metrics,
        tracing,
        now,
      }) ?? []),
    ],
  })
}

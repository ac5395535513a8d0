import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import {
  createLogAdmin,
  createRecordConsumer,
  type FetchedBatch,
  type LogConnection,
  type Logger,
  type Publisher,
  partitionForKey,
  type RecordConsumerOptions,
  readWatermarks,
  TopicMissingError,
  type Watermarks,
} from '@nextvisit/log'
import { Registry } from 'prom-client'
import { createTicker } from './create-ticker.ts'
import { CheckpointOutsideLogError, RunnerStoppedError } from './errors.ts'
import { createOutboxDrain } from './outbox-drain.ts'
import { createOwnedPartition, type OwnedPartition, type PartitionProgress } from './owned-partition.ts'
import { createPartitionFold } from './partition-fold.ts'
import { retryWhilePostgresIsAway } from './postgres-retry.ts'
import type { Projection } from './projection.ts'
import { createRunnerMetrics } from './runner-metrics.ts'

export interface ProjectionRunnerOptions<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly connection: LogConnection
  readonly catalog: CatalogView
  readonly logger: Logger
  readonly now: () => Date
  /** Goes into dead letters. */
  readonly serviceVersion: string
  /** This process can fold no more: exit, and let a fresh one take over. */
  readonly onFailure: (error: Error) => void
  /** Publishes the outbox. Left out: the projection has none. */
  readonly publisher?: Publisher
  readonly metrics?: Registry
  readonly tickEveryMs?: number
  /** Default: `nextvisit.<projection name>`. */
  readonly groupId?: string
  readonly consumer?: Partial<RecordConsumerOptions>
}

/** A projection, running: this process' share of the partitions. */
export interface ProjectionRunner {
  /** Joins the consumer group. Resolves once joined; partitions come when the group says so. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly progress: () => readonly PartitionProgress[]
}

/**
 * Runs a projection as a member of its consumer group. On assignment it goes to the stored checkpoints, refusing those
 * that the log does not hold. Kafka's committed offsets are for dashboards only.
 */
export function createProjectionRunner<Fact, Draft>(options: ProjectionRunnerOptions<Fact, Draft>): ProjectionRunner {
  const { projection, db, connection, catalog, logger, now, serviceVersion, publisher } = options
  const metrics = createRunnerMetrics(options.metrics ?? new Registry(), () => progress())
  const groupId = options.groupId ?? `nextvisit.${projection.name}`
  const admin = createLogAdmin(connection, { logger })
  const partitionCounts = new Map<string, number>()
  const stopping = new AbortController()
  /** By name. What an assignment gave this process, until the next begins. */
  let owned: ReadonlyMap<string, OwnedPartition> = new Map()
  /** Opened for an assignment that is about to begin, if no other comes first. */
  const opened = new Map<string, OwnedPartition>()

  /** Returns where to begin. */
  const open = async (topic: string, partition: number, marks: Watermarks): Promise<bigint> => {
    const onAfterFailed = (error: unknown) =>
      logger.warn({ err: error, topic, partition }, 'What follows a commit failed; going on')
    const fold = createPartitionFold({ projection, db, topic, partition, catalog, serviceVersion, onAfterFailed })
    const { nextOffset } = await fold.open(marks.low)
    // The marks are older than the checkpoint: who folded this partition until now may have passed them meanwhile.
    const log = nextOffset > marks.high ? await readMarks(topic, partition) : marks
    if (nextOffset < log.low || nextOffset > log.high) {
      throw new CheckpointOutsideLogError({ projection: projection.name, topic, partition }, nextOffset, log)
    }
    const { signal } = stopping
    const opening = createOwnedPartition({ topic, partition, fold, logEnd: log.high, logger, metrics, now, signal })
    opened.set(nameOf(topic, partition), opening)
    // The consumer knows the older marks only. What it reads from there and is folded already is skipped.
    return nextOffset < marks.high ? nextOffset : marks.high
  }

  const readMarks = async (topic: string, partition: number): Promise<Watermarks> => {
    const marks = (await readWatermarks(connection, topic, { logger })).get(partition)
    if (!marks) throw new TopicMissingError([topic])
    return marks
  }

  /** Postgres may be away when partitions are assigned; waiting here holds up nobody but this process. */
  const positions = async (
    topic: string,
    partitions: ReadonlyMap<number, Watermarks>,
  ): Promise<Map<number, bigint>> => {
    const found = new Map<number, bigint>()
    for (const [partition, marks] of partitions) {
      const trying = { signal: stopping.signal, logger, place: { topic, partition } }
      found.set(partition, await retryWhilePostgresIsAway(() => open(topic, partition, marks), trying))
    }
    return found
  }

  /** Takes what was opened for this assignment. An earlier one, that it overtook, may open others still. */
  const onAssigned = (assigned: ReadonlyMap<string, readonly number[]>): void => {
    for (const partition of owned.values()) partition.giveUp()
    const names = [...assigned].flatMap(([topic, ofTopic]) => ofTopic.map((partition) => nameOf(topic, partition)))
    owned = new Map(names.map((name) => [name, take(name)]))
    logger.info({ partitions: names.join(' ') }, `Folding ${names.length} partitions`)
  }

  const take = (name: string): OwnedPartition => {
    const partition = opened.get(name)
    if (!partition) throw new Error(`${projection.name} was assigned ${name}, whose checkpoint was not read`)
    opened.delete(name)
    return partition
  }

  const onBatch = async (batch: FetchedBatch): Promise<void> => {
    try {
      await owned.get(nameOf(batch.topic, batch.partition))?.handle(batch)
      void outbox?.drain()
    } catch (error) {
      // The partition is somebody else's now: they fold the batch. The consumer forgets it, too.
      if (!(error instanceof RunnerStoppedError) || stopping.signal.aborted) throw error
    }
  }

  const consumer = createRecordConsumer(
    connection,
    { groupId, topics: projection.topics, logger, ...options.consumer },
    { positions, onAssigned, onBatch, onCrash: options.onFailure },
  )

  const tickAll = async (): Promise<void> => {
    for (const topic of projection.topics) await tickTopic(topic)
    void outbox?.drain()
  }

  /** A tick's instant comes before the look at the log's end, so that whatever was in the log by then is folded first. */
  const tickTopic = async (topic: string): Promise<void> => {
    const instant = now()
    const marks = await admin.watermarks(topic).catch((err: unknown) => {
      logger.warn({ err, topic }, 'Cannot read the end of the log; ticks wait')
      return new Map<number, Watermarks>()
    })
    const ticks = [...owned.values()].map(async (partition) => {
      const end = partition.topic === topic ? marks.get(partition.partition)?.high : undefined
      if (end !== undefined) await partition.tick(instant, end)
    })
    await Promise.all(ticks)
  }

  const partitionOf = async (topic: string, key: string): Promise<number> => {
    const count = partitionCounts.get(topic) ?? (await admin.partitionCount(topic))
    if (count === 0) throw new TopicMissingError([topic])
    partitionCounts.set(topic, count)
    return partitionForKey(key, count)
  }

  const ownedPartitions = (): number[] => [...new Set(Array.from(owned.values(), ({ partition }) => partition))]
  const outbox = publisher && createOutboxDrain({ db, publisher, logger, owned: ownedPartitions, partitionOf })

  /** A tick of a partition that was given up meanwhile is nobody's loss: its new owner has its own. */
  const tick = (): Promise<void> =>
    tickAll().catch((error: unknown) => {
      if (!(error instanceof RunnerStoppedError)) throw error
    })

  const ticker = createTicker({ everyMs: options.tickEveryMs ?? 1_000, tick, onFailure: options.onFailure })
  const progress = (): PartitionProgress[] => Array.from(owned.values(), (partition) => partition.progress())

  return {
    start: async () => {
      await admin.connect()
      await consumer.start()
      ticker.start()
    },
    stop: async () => {
      ticker.stop()
      const left = consumer.stop()
      stopping.abort()
      await left
      await ticker.finished()
      await outbox?.finished()
      await admin.disconnect()
    },
    progress,
  }
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

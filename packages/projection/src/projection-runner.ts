import { setTimeout as sleep } from 'node:timers/promises'
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
} from '@nextvisit/log'
import { Registry } from 'prom-client'
import { createAssignments } from './assignments.ts'
import { createDeadLetterGauge } from './dead-letter-gauge.ts'
import { createTicker } from './create-ticker.ts'
import { findDue } from './due-partitions.ts'
import { LogAwayError, mayPass, RunnerStoppedError } from './errors.ts'
import { createOutboxDrain } from './outbox-drain.ts'
import type { OwnedPartition, PartitionProgress } from './owned-partition.ts'
import { createPartitionCounts } from './partition-counts.ts'
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
  /** How long a small batch at the log's end waits before it is folded. Default 20; 0 where callers wait for it. */
  readonly lingerMs?: number
  /** Default: `nextvisit.<projection name>`. */
  readonly groupId?: string
  readonly consumer?: Partial<RecordConsumerOptions>
}

/**
 * What a frozen Postgres or Kafka is asked for takes longer than a service has to stop; it is then left to itself, since
 * whatever comes of it is judged by the fence.
 */
const STOP_WITHIN_MS = 5_000

const LINGER_MS = 20
const SMALL_BATCH_RECORDS = 100

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
  const { projection, db, connection, catalog, logger, now, serviceVersion, publisher, lingerMs = LINGER_MS } = options
  const registry = options.metrics ?? new Registry()
  const metrics = createRunnerMetrics(registry, () => progress())
  const deadLetters = createDeadLetterGauge({ db, projection: projection.name, registry, logger })
  const groupId = options.groupId ?? `nextvisit.${projection.name}`
  const admin = createLogAdmin(connection, { logger })
  const countOf = createPartitionCounts(admin)
  const stopping = new AbortController()
  const { signal } = stopping
  const readMarks = (topic: string) => readWatermarks(connection, topic, { logger })
  const own = { projection, db, catalog, serviceVersion, logger, metrics, now, readMarks, signal }
  const { positions, begin, owned, find } = createAssignments(own)

  const ticking = new Map<OwnedPartition, Promise<void>>()

  let lingeredAt = -Infinity
  /**
   * Where few records come, they are let gather at the broker: the next fetch brings more of them for one commit, and the
   * evaluator, which callers wait for most, goes first. Once a fetch, whose partitions are next to each other in time.
   */
  const linger = async ({ records, nextOffset, highWatermark }: FetchedBatch): Promise<void> => {
    const isAtEnd = nextOffset === highWatermark
    if (records.length >= SMALL_BATCH_RECORDS || !isAtEnd || performance.now() - lingeredAt < lingerMs) return
    await sleep(lingerMs, undefined, { signal }).catch(() => {}) // stopping ends it
    lingeredAt = performance.now()
  }

  const onBatch = async (batch: FetchedBatch): Promise<void> => {
    await linger(batch)
    try {
      await find(batch.topic, batch.partition)?.handle(batch)
      void outbox?.drain()
    } catch (error) {
      // The partition is somebody else's now: they fold the batch. The consumer forgets it, too.
      if (!(error instanceof RunnerStoppedError) || stopping.signal.aborted) throw error
    }
  }

  const consumer = createRecordConsumer(
    connection,
    { groupId, topics: projection.topics, logger, ...options.consumer },
    { positions, onAssigned: begin, onBatch, onCrash: options.onFailure },
  )

  const tickAll = async (): Promise<void> => {
    for (const topic of projection.topics) await tickTopic(topic)
    void outbox?.drain()
  }

  /** A tick's instant comes before the look at the log's end, so that whatever was in the log by then is folded first. */
  const tickTopic = async (topic: string): Promise<void> => {
    const instant = now()
    const marks = await admin.watermarks(topic).catch((cause: unknown) => {
      throw new LogAwayError({ cause })
    })
    const ofTopic = owned().flatMap((one) => {
      const end = one.topic === topic ? marks.get(one.partition)?.high : undefined
      return end === undefined ? [] : { one, end }
    })
    for (const { one, end } of ofTopic) one.noticeEnd(end)
    const partitions = ofTopic.map(({ one }) => one.partition)
    const due = await findDue(projection, db, { topic, partitions, instant, catalog })
    for (const { one, end } of ofTopic) if (due.has(one.partition) && !ticking.has(one)) beginTick(one, instant, end)
  }

  /** Nobody waits for it: a partition whose batch does not come through holds up the ticks of no other. */
  const beginTick = (one: OwnedPartition, instant: Date, end: bigint): void => {
    const ended = one.tick(instant, end).catch(onTickFailed)
    ticking.set(
      one,
      ended.finally(() => ticking.delete(one)),
    )
  }

  const partitionOf = async (topic: string, key: string) => partitionForKey(key, await countOf(topic))
  const ownedPartitions = () => [...new Set(owned().map(({ partition }) => partition))]
  const outbox = publisher && createOutboxDrain({ db, publisher, logger, owned: ownedPartitions, partitionOf })

  /** While Kafka or Postgres is away ticks wait. One of a partition that was given up is nobody's loss: its new owner ticks. */
  const onTickFailed = (err: unknown): void => {
    if (signal.aborted) return
    if (!mayPass(err)) options.onFailure(err instanceof Error ? err : new Error(String(err)))
    else if (!(err instanceof RunnerStoppedError)) logger.warn({ err }, 'Cannot see what is due; ticks wait')
  }

  const ticker = createTicker({ everyMs: options.tickEveryMs ?? 1_000, tick: () => tickAll().catch(onTickFailed) })
  const progress = (): PartitionProgress[] => owned().map((partition) => partition.progress())

  return {
    start: async () => {
      await admin.connect()
      await consumer.start()
      ticker.start()
      void deadLetters.tell()
    },
    stop: async () => {
      ticker.stop()
      const left = consumer.stop()
      stopping.abort()
      const isOver = left
        .then(ticker.finished)
        .then(() => Promise.all(ticking.values()))
        .then(outbox?.finished)
      await Promise.race([isOver, sleep(STOP_WITHIN_MS, undefined, { ref: false })])
      await admin.disconnect()
    },
    progress,
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogView } from '@nextvisit/catalog'
import { type AwaitedRecord, consumerGroupOf } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import {
  createLogAdmin,
  createGroupReader,
  type FetchedRecord,
  type LogConnection,
  type Logger,
  partitionForKey,
  type Publisher,
  readWatermarks,
  type GroupReaderOptions,
} from '@nextvisit/log'
import { Registry } from 'prom-client'
import { createAssignments } from '../assign/assignments.ts'
import { createFetchPacing, GATHER_MS } from '../assign/fetch-pacing.ts'
import { createPartitionCounts } from '../assign/partition-counts.ts'
import { mayPass, RunnerStoppedError } from '../core/errors.ts'
import { readFoldedKeys } from '../fold/checkpoint.ts'
import { createCommitLoop } from '../fold/commit-loop.ts'
import type { FoldParts } from '../fold/fold-parts.ts'
import type { Partition } from '../fold/partition.ts'
import { createOutboxDrain } from '../outbox/outbox-drain.ts'
import type { AnyFact, Projection } from '../core/projection.ts'
import { createPartitionTicks } from '../ticks/partition-ticks.ts'
import { createAlarmWatch } from '../watch/alarm-watch.ts'
import type { PartitionAlarm } from '../watch/partition-alarms.ts'
import type { PartitionProgress } from '../watch/partition-progress.ts'
import { createRunnerMetrics } from '../watch/runner-metrics.ts'
import { createSchemaGauges } from '../watch/schema-gauges.ts'

export interface ProjectionRunnerOptions<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  /** Connections for everything except folds: ticks, the outbox, alarms. They must not delay folds. */
  readonly upkeepDb: CommitDb
  readonly foldDb: CommitDb
  readonly connection: LogConnection
  readonly catalog: CatalogView
  readonly logger: Logger
  readonly now: () => Date
  /** Stored with dead letters. */
  readonly serviceVersion: string
  /** Called when this process can no longer fold. It should exit, and a new process take over. */
  readonly onFailure: (error: Error) => void
  /** Publishes the outbox. Absent: the projection has none. */
  readonly publisher?: Publisher
  readonly metrics?: Registry
  readonly tickEveryMs?: number
  /** Default: {@link GATHER_MS}. */
  readonly gatherMs?: number
  /** Returns true if a caller waits for the reply to a record. Default: always false. */
  readonly isAwaited?: (record: FetchedRecord) => boolean
  /** Default: the group of the service with the projection's name. */
  readonly groupId?: string
  readonly groupReader?: Partial<GroupReaderOptions>
}

/**
 * Maximum duration of a stop. A call to a frozen Postgres or Kafka takes longer and is abandoned. The fence rejects its late
 * commit.
 */
const STOP_WITHIN_MS = 5_000

/** A running projection: this process's share of the partitions. */
export interface ProjectionRunner {
  /** Joins the consumer group. Resolves once joined; the group assigns partitions later. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  /** Returns the progress of owned partitions, and of partitions that cannot be opened yet. */
  readonly progress: () => readonly PartitionProgress[]
  /** Returns the reason why alarms are not in Postgres, where `nextvisit status` reads them. */
  readonly alarmProblem: () => string | undefined
  /** Returns true if the record of a halted partition can be set aside now: see `deadLetterCalls.setAside`. */
  readonly canSetAside: (partition: Pick<PartitionProgress, 'topic' | 'partition'>, alarm: PartitionAlarm) => boolean
  /** Ends the pause between fetches: a caller waits for the gathered records. */
  readonly fetchNow: () => void
  /** Fetches an awaited record now if this process owns its partition. */
  readonly fetchUpTo: (record: AwaitedRecord) => void
}

/**
 * Runs a projection as a member of its consumer group. On assignment it seeks to the stored checkpoints, and refuses
 * checkpoints outside the log. Kafka's committed offsets are for dashboards only.
 */
export function createProjectionRunner<Fact extends AnyFact, Draft>(
  options: ProjectionRunnerOptions<Fact, Draft>,
): ProjectionRunner {
  const { projection, foldDb, upkeepDb, connection, catalog, logger, now, serviceVersion, publisher, onFailure } =
    options
  const { groupId = consumerGroupOf(projection.name), tickEveryMs = 1_000, gatherMs = GATHER_MS } = options
  const registry = options.metrics ?? new Registry()
  const progress = () => reported().map((partition) => partition.progress())
  const metrics = createRunnerMetrics(registry, progress)
  const waiting = createSchemaGauges({ db: upkeepDb, projection: projection.name, registry, logger })
  const logAdmin = createLogAdmin(connection, { logger })
  const partitionCounts = createPartitionCounts(logAdmin, connection.partitions, () =>
    readFoldedKeys(upkeepDb, projection.name),
  )
  const stopping = new AbortController()
  const { signal } = stopping
  const readMarks = (topic: string) => readWatermarks(connection, topic, { logger })
  const drainSoon = (): void => outbox?.drainSoon()
  const parts: FoldParts<Fact, Draft> = {
    projection,
    db: foldDb,
    catalog,
    serviceVersion,
    logger,
    onCommitted: ({ recorded, duplicates, outboxRows }) => {
      for (const { topic, partition, offset, id, traceparent } of recorded)
        logger.debug({ topic, partition, offset, recordId: id, traceparent }, 'Folded')
      const folded = recorded.length - duplicates
      if (folded > 0) metrics.batchRecords.observe(folded)
      if (outboxRows > 0) drainSoon()
    },
  }
  const loop = createCommitLoop(parts, (): readonly Partition[] => owned())
  const { positions, begin, owned, reported, find } = createAssignments<Fact, Draft>({
    parts: { ...parts, db: upkeepDb },
    logger,
    metrics,
    now,
    ring: loop.ring,
    drainSoon,
    readMarks,
    partitionCounts,
    keyPartitions: connection.partitions?.keys,
    signal,
  })
  const pacing = createFetchPacing(gatherMs, options.isAwaited)
  let folding: Promise<void> | undefined

  const partitionOf = async (topic: string, key: string) => partitionForKey(key, await partitionCounts.keysOf(topic))
  const ownedPartitions = () => [...new Set(owned().map(({ partition }) => partition))]
  const outbox =
    publisher && createOutboxDrain({ db: upkeepDb, publisher, logger, owned: ownedPartitions, partitionOf, signal })

  const groupReader = createGroupReader(
    connection,
    { groupId, topics: [projection.topic], logger, ...options.groupReader },
    {
      positions,
      onAssigned: (assigned) => {
        pacing.reassign()
        begin(assigned)
        // The last owner may have left rows.
        if (assigned.size > 0) drainSoon()
      },
      onBatch: async (batch) => {
        const one = find(batch.topic, batch.partition)
        try {
          if (one) await pacing.handle(one, batch)
        } catch (error) {
          // Another process owns the partition now and folds the batch. The reader drops it, too.
          if (!(error instanceof RunnerStoppedError) || signal.aborted) throw error
        }
      },
      mayFetch: pacing.mayFetch,
      onUnreadable: (topic, partition, error) => {
        // A partition that its broker refuses for a time is read again, and stalls meanwhile.
        if (!mayPass(error)) find(topic, partition)?.halt(error)
      },
      onCrash: onFailure,
    },
  )
  const alarms = createAlarmWatch({ db: upkeepDb, projection: projection.name, reported, logger, everyMs: tickEveryMs })

  const ticks = createPartitionTicks({
    projection,
    db: upkeepDb,
    catalog,
    logAdmin,
    owned,
    now,
    logger,
    signal,
    everyMs: tickEveryMs,
    onPoll: () => void outbox?.drain(),
  })

  return {
    start: async () => {
      await logAdmin.connect()
      folding = loop.run(signal).catch(onFailure)
      await groupReader.start()
      ticks.start()
      alarms.start()
      void waiting.report()
    },
    stop: async () => {
      ticks.stop()
      const left = groupReader.stop()
      stopping.abort()
      pacing.fetchNow()
      const isOver = left
        .then(() => folding)
        .then(ticks.finished)
        .then(alarms.stop)
        .then(alarms.finished)
        .then(outbox?.finished)
      await Promise.race([isOver, sleep(STOP_WITHIN_MS, undefined, { ref: false })])
      await logAdmin.disconnect()
    },
    progress,
    alarmProblem: alarms.problem,
    canSetAside: (partition, alarm) => alarm.recordId !== undefined && alarms.isWritten(partition, alarm),
    fetchNow: pacing.fetchNow,
    fetchUpTo: (record) => {
      if (find(record.topic, record.partition)) pacing.fetchUpTo(record)
    },
  }
}

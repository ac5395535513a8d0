import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogView } from '@nextvisit/catalog'
import { type AwaitedRecord, consumerGroupOf } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import {
  createGroupReader,
  type FetchedRecord,
  type GroupReaderOptions,
  type LogAdmin,
  type LogConnection,
  type Logger,
  partitionForKey,
  type Publisher,
} from '@nextvisit/log'
import { traceFields, type Tracing } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import { createAssignments } from '../assign/assignments.ts'
import { createFetchPacing, FETCH_PAUSE_MS } from '../assign/fetch-pacing.ts'
import { createOwnedPartitions } from '../assign/owned-partitions.ts'
import type { PartitionCounts } from '../assign/partition-counts.ts'
import { readerHandlers } from '../assign/reader-handlers.ts'
import { RunnerStoppedError } from '../core/errors.ts'
import type { AnyFact, Projection, Recorded } from '../core/projection.ts'
import { createCommitLoop } from '../partition/commit-loop.ts'
import type { FoldParts } from '../fold/fold-parts.ts'
import { createPastLog } from '../fold/past-log.ts'
import { createCommitTracing } from '../fold/commit-tracing.ts'
import { createOutboxDrain, type NotePublished } from '../outbox/outbox-drain.ts'
import type { UserKeys } from '../fold/user-keys.ts'
import { createTickRounds } from '../ticks/tick-rounds.ts'
import { createAlarmWatch } from '../watch/alarm-watch.ts'
import type { PartitionAlarm, PartitionProgress } from '../partition/partition-progress.ts'
import { createRunnerMetrics } from '../partition/runner-metrics.ts'
import { createSchemaGauges } from '../watch/schema-gauges.ts'

export interface ProjectionRunnerParts<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  /** Connections for everything except folds: ticks, the outbox, alarms. They must not delay folds. */
  readonly upkeepDb: CommitDb
  readonly foldDb: CommitDb
  readonly connection: LogConnection
  /** Is connected while the runner runs. */
  readonly logAdmin: LogAdmin
  readonly partitionCounts: PartitionCounts
  readonly catalog: CatalogView
  readonly logger: Logger
  readonly now: () => Date
  /** Stored with dead letters. */
  readonly serviceVersion: string
  /** Called when this process can no longer fold. It should exit, and a new process take over. */
  readonly onFailure: (error: Error) => void
  /** Absent: the projection opens no records. */
  readonly userKeys?: UserKeys | undefined
  /** Publishes the outbox. Absent: the projection has none. */
  readonly publisher?: Publisher | undefined
  readonly notePublished?: NotePublished | undefined
  readonly outboxPauseMs?: number | undefined
  /** Default: a registry that nothing scrapes. */
  readonly metrics?: Registry
  readonly tickEveryMs?: number
  /** Default: {@link FETCH_PAUSE_MS}. */
  readonly fetchPauseMs?: number | undefined
  /** Returns true if a caller waits for the reply to a record. Default: always false. */
  readonly isAwaited?: ((record: FetchedRecord) => boolean) | undefined
  /** Default: the group of the service with the projection's name. */
  readonly groupId?: string
  readonly groupReader?: Partial<GroupReaderOptions>
  readonly tracing?: Tracing | undefined
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
  /** Returns true while this process owns the partition, and the group knows it: not after a pause in which others may have got the partition. */
  readonly owns: (partition: number) => boolean
  /** Publishes new rows of the outbox soon. */
  readonly drainSoon: () => void
  /** Returns the reason why alarms are not in Postgres, where `nextvisit status` reads them. */
  readonly alarmProblem: () => string | undefined
  /** Returns true if the record of a halted partition can be set aside now: see `deadLetterCalls.setAside`. */
  readonly canSetAside: (partition: Pick<PartitionProgress, 'topic' | 'partition'>, alarm: PartitionAlarm) => boolean
  /** Ends the pause between fetches: a caller waits for records of any partition. */
  readonly fetchNow: () => void
  /** Fetches an awaited record now if this process owns its partition. */
  readonly fetchAwaited: (record: AwaitedRecord) => void
}

/**
 * Runs a projection as a member of its consumer group. On assignment it seeks to the stored checkpoints, and refuses
 * checkpoints outside the log. Kafka's committed offsets are for dashboards only.
 */
export function createProjectionRunner<Fact extends AnyFact, Draft>(
  runnerParts: ProjectionRunnerParts<Fact, Draft>,
): ProjectionRunner {
  const { projection, foldDb, upkeepDb, connection, logAdmin, partitionCounts, catalog, logger, now } = runnerParts
  const { serviceVersion, onFailure, userKeys, publisher, metrics: registry = new Registry() } = runnerParts
  const { tickEveryMs = 1_000 } = runnerParts
  const { name, topic } = projection
  const stopping = new AbortController()
  const { signal } = stopping
  const owned = createOwnedPartitions()
  const progress = () => owned.reported().map((partition) => partition.progress())
  const metrics = createRunnerMetrics(registry, progress, Object.keys(projection.evolve))
  const schemaGauges = createSchemaGauges({ db: upkeepDb, projection: name, registry, logger })

  const outbox =
    publisher &&
    createOutboxDrain({
      db: upkeepDb,
      publisher,
      logger,
      owned: () => owned.all().map(({ partition }) => partition),
      partitionOf: async (to, key) => partitionForKey(key, await partitionCounts.keyPartitionsOf(to)),
      notePublished: runnerParts.notePublished,
      pauseMs: runnerParts.outboxPauseMs,
      signal,
    })
  const drainSoon = (): void => outbox?.drainSoon()

  const groupId = runnerParts.groupId ?? consumerGroupOf(name)
  const traceCommit = runnerParts.tracing && createCommitTracing(runnerParts.tracing, { topic, groupId })
  const pastLog = createPastLog({ connection, topic, logAdmin, logger })
  const parts: FoldParts<Fact, Draft> = {
    projection,
    db: foldDb,
    pastLog,
    catalog,
    serviceVersion,
    userKeys,
    logger,
    onCommitted: (commit) => {
      const { recorded, duplicates, erased, outboxRows } = commit
      traceCommit?.(commit)
      for (const { partition, offset, id, traceparent } of recorded)
        logger.debug({ topic, partition, offset, recordId: id, traceparent, ...traceFields(traceparent) }, 'Folded')
      for (const [type, count] of countTypes(recorded)) metrics.records.inc({ type }, count)
      const folded = recorded.length - duplicates
      if (folded > 0) metrics.batchRecords.observe(folded)
      if (erased > 0) metrics.erased.inc(erased)
      if (outboxRows > 0) drainSoon()
    },
  }
  const commitLoop = createCommitLoop(parts, owned.all, signal)
  const assignments = createAssignments({
    parts: { ...parts, db: upkeepDb },
    owned,
    logAdmin,
    partitionCounts,
    keyPartitions: connection.partitions?.keyPartitions,
    metrics,
    now,
    logger,
    wake: commitLoop.wake,
    drainSoon,
    signal,
  })
  const pacing = createFetchPacing(runnerParts.fetchPauseMs ?? FETCH_PAUSE_MS, runnerParts.isAwaited)
  const groupReader = createGroupReader(
    connection,
    {
      groupId,
      topics: [topic],
      withStandIns: true,
      logger,
      ...runnerParts.groupReader,
    },
    {
      ...readerHandlers(owned, pacing, signal),
      positions: (_topic, partitions) => assignments.openPositions(partitions),
      onAssigned: (assigned) => {
        const partitions = assigned.get(topic) ?? []
        pacing.reassign()
        userKeys?.keepOnly(partitions)
        assignments.begin(partitions)
        // The last owner may have left rows.
        if (assigned.size > 0) drainSoon()
      },
      onCrash: onFailure,
    },
  )
  const alarms = createAlarmWatch({
    db: upkeepDb,
    projection: name,
    reported: owned.reported,
    logger,
    everyMs: tickEveryMs,
  })
  const ticks = createTickRounds({
    projection,
    db: upkeepDb,
    catalog,
    logAdmin,
    owned: owned.all,
    now,
    logger,
    signal,
    everyMs: tickEveryMs,
    pullKeys: async (partitions) => userKeys?.pull(upkeepDb, partitions),
    onPoll: () => void outbox?.drain(),
  })
  let folding: Promise<void> | undefined

  /** Waits for the work in flight: commits first, because they cause ticks, alarms and outbox rows. */
  async function finish(left: Promise<void>): Promise<void> {
    await left
    await folding
    await ticks.finished()
    pastLog.stop()
    alarms.stop()
    await alarms.finished()
    await outbox?.finished()
  }

  return {
    start: async () => {
      folding = commitLoop.run().catch(onFailure)
      await groupReader.start()
      ticks.start()
      alarms.start()
      void schemaGauges.report()
    },
    stop: async () => {
      ticks.stop()
      const left = groupReader.stop()
      stopping.abort(new RunnerStoppedError())
      pacing.fetchNow()
      await Promise.race([finish(left), sleep(STOP_WITHIN_MS, undefined, { ref: false })])
    },
    progress,
    owns: (partition) => groupReader.isHeld() && owned.find(partition) !== undefined,
    drainSoon,
    alarmProblem: alarms.problem,
    canSetAside: (partition, alarm) => alarm.recordId !== undefined && alarms.isWritten(partition, alarm),
    fetchNow: pacing.fetchNow,
    fetchAwaited: (record) => {
      if (record.topic === topic && owned.find(record.partition)) pacing.fetchAwaited(record)
    },
  }
}

/** Counts the records of a commit by type. */
function countTypes(records: readonly Recorded<AnyFact>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { fact } of records) counts.set(fact.type, (counts.get(fact.type) ?? 0) + 1)
  return counts
}

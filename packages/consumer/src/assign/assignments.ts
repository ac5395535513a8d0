import type { CatalogView } from '@nextvisit/catalog'
import type { CommitDb } from '@nextvisit/database'
import { type Logger, type RecordConsumerHandlers, TopicMissingError, type Watermarks } from '@nextvisit/log'
import type { CommonFold } from '../fold/common-fold.ts'
import { fetchOffsetOf, outsideLog } from '../fold/log-identity.ts'
import { createOwnedPartition, type OwnedPartition } from '../fold/owned-partition.ts'
import { createPartitionFold, type PartitionFold } from '../fold/partition-fold.ts'
import { retryWhilePostgresIsUnavailable } from '../fold/postgres-retry.ts'
import type { Projection } from '../projection.ts'
import { endAlarms } from '../watch/partition-alarms.ts'
import { createProgressTracker, type ProgressTracker } from '../watch/partition-progress.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'
import type { PartitionCounts } from './partition-counts.ts'

export interface AssignmentsOptions<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly catalog: CatalogView
  readonly serviceVersion: string
  /** Folds the batches of all partitions. */
  readonly common: CommonFold
  readonly logger: Logger
  readonly metrics: RunnerMetrics
  readonly now: () => Date
  /** See `createOwnedPartition`. */
  readonly drainSoon: () => void
  readonly readMarks: (topic: string) => Promise<ReadonlyMap<number, Watermarks>>
  readonly partitionCounts: Pick<PartitionCounts, 'refusalOf'>
  /** Over how many partitions keys are spread. Stored with each new checkpoint. */
  readonly keyPartitions?: number | undefined
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal
}

/** The partitions that this process folds now, as the consumer group assigns and revokes them. */
export interface Assignments {
  /** Opens the checkpoints of an assignment. A later assignment may overtake it: only `begin` changes what is owned. */
  readonly positions: RecordConsumerHandlers['positions']
  /** From now on exactly these are owned. The work of the last assignment ends, also for a partition that stays. */
  readonly begin: (assigned: ReadonlyMap<string, readonly number[]>) => void
  readonly owned: () => readonly OwnedPartition[]
  /** The owned ones, and those that will be owned once their checkpoints can be opened. */
  readonly reported: () => readonly ReportedPartition[]
  readonly find: (topic: string, partition: number) => OwnedPartition | undefined
}

/** What operators are told about. */
export type ReportedPartition = Pick<OwnedPartition, 'topic' | 'partition' | 'progress' | 'setAside'>

interface OpenedPartition {
  readonly fold: PartitionFold
  /** The log's end as it was when the checkpoint was read. */
  readonly logEnd: bigint
  /** Why the partition cannot be read. */
  readonly refusal?: Error | undefined
}

export function createAssignments<Fact, Draft>(options: AssignmentsOptions<Fact, Draft>): Assignments {
  const { projection, db, catalog, serviceVersion, common, logger, metrics, now, drainSoon } = options
  const { readMarks, partitionCounts, keyPartitions, signal } = options
  const opened = new Map<string, OpenedPartition>()
  const opening = new Map<string, { readonly one: ReportedPartition; readonly tracker: ProgressTracker }>()
  let owned: ReadonlyMap<string, OwnedPartition> = new Map()
  let ended = new AbortController()

  const open = async (topic: string, partition: number, marks: Watermarks): Promise<OpenedPartition> => {
    const changed = await partitionCounts.refusalOf(topic, partition)
    const scope = { projection, db, topic, partition, catalog, serviceVersion, common }
    // The number that a refused partition was read with is the wrong one: it is not stored.
    const fold = createPartitionFold({ ...scope, ...(!changed && { keyPartitions }) })
    const { nextOffset } = await fold.open()
    // The marks are older than the checkpoint: the last owner may have passed them meanwhile.
    const log = nextOffset > marks.high ? await readMarksOf(topic, partition) : marks
    const key = { projection: projection.name, topic, partition }
    const refusal = changed ?? outsideLog(key, nextOffset, log)
    if (!refusal) await endAlarms(db, key, { openedBefore: log.high })
    return { fold, logEnd: log.high, refusal }
  }

  const readMarksOf = async (topic: string, partition: number): Promise<Watermarks> => {
    const marks = (await readMarks(topic)).get(partition)
    if (!marks) throw new TopicMissingError([topic])
    return marks
  }

  /** Postgres may be unavailable when partitions are assigned. Waiting here delays only this process. */
  const positions: Assignments['positions'] = async (topic, partitions) => {
    beginOpening(topic, partitions)
    const found = new Map<number, bigint>()
    for (const [partition, marks] of partitions) {
      const topicPartition = { topic, partition }
      const name = nameOf(topic, partition)
      const onRetry = (error: unknown): void => {
        metrics.retries.inc()
        opening.get(name)?.tracker.noticeRefused(error)
      }
      const attempt = () => open(topic, partition, marks)
      const one = await retryWhilePostgresIsUnavailable(attempt, { signal, logger, topicPartition, onRetry })
      opened.set(name, one)
      if (!one.refusal) found.set(partition, fetchOffsetOf(one.fold.checkpoint().nextOffset, marks))
    }
    return found
  }

  /** A partition that was assigned again before it was opened has waited since the first time. */
  const beginOpening = (topic: string, partitions: ReadonlyMap<number, Watermarks>): void => {
    for (const [name, { one }] of opening)
      if (one.topic === topic && !partitions.has(one.partition)) opening.delete(name)
    for (const [partition, { high }] of partitions) {
      const name = nameOf(topic, partition)
      if (opening.has(name)) continue
      // How many records wait is not known before: at least the next one.
      const tracker = createProgressTracker({ topic, partition, logEnd: high + 1n, nextOffset: () => high, now })
      opening.set(name, { one: { topic, partition, progress: tracker.read, setAside: () => {} }, tracker })
    }
  }

  const take = (topic: string, partition: number): OwnedPartition => {
    const name = nameOf(topic, partition)
    const found = opened.get(name)
    if (!found) throw new Error(`${name} was assigned, but its checkpoint was never opened`)
    opened.delete(name)
    const until = AbortSignal.any([signal, ended.signal])
    const { refusal, ...fold } = found
    const one = createOwnedPartition({ topic, partition, ...fold, logger, metrics, now, drainSoon, signal: until })
    if (refusal) one.halt(refusal)
    return one
  }

  const begin: Assignments['begin'] = (assigned) => {
    ended.abort()
    ended = new AbortController()
    const partitions = [...assigned].flatMap(([topic, ofTopic]) => ofTopic.map((partition) => take(topic, partition)))
    owned = new Map(partitions.map((one) => [nameOf(one.topic, one.partition), one]))
    opening.clear()
    logger.info(
      { partitions: partitions.map(({ partition }) => partition).join(',') },
      `Folding ${owned.size} partitions`,
    )
  }

  return {
    positions,
    begin,
    owned: () => [...owned.values()],
    reported: () => [...owned.values(), ...[...opening].flatMap(([name, { one }]) => (owned.has(name) ? [] : one))],
    find: (topic, partition) => owned.get(nameOf(topic, partition)),
  }
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

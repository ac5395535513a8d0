import { setTimeout as sleep } from 'node:timers/promises'
import {
  backOffAfter,
  type GroupReaderHandlers,
  type Logger,
  TopicMissingError,
  topicPartition,
  type Watermarks,
} from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from '../core/errors.ts'
import type { FoldParts } from '../fold/fold-parts.ts'
import { createPartition, type Partition } from '../fold/partition.ts'
import { fetchOffsetOf, outsideLog } from '../fold/partition-batch.ts'
import { createPartitionFold, type PartitionFold } from '../fold/partition-fold.ts'
import { endAlarms } from '../watch/partition-alarms.ts'
import type { ReportedPartition } from '../watch/partition-progress.ts'
import { createProgressTracker, type ProgressTracker } from '../fold/progress-tracker.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'
import type { PartitionCounts } from './partition-counts.ts'
import type { AnyFact } from '../core/projection.ts'

interface AssignmentsOptions<Fact extends AnyFact, Draft> {
  /** The parts for ticks, whose database is not that of batches. */
  readonly parts: FoldParts<Fact, Draft>
  readonly logger: Logger
  readonly metrics: RunnerMetrics
  readonly now: () => Date
  /** Wakes the commit loop. */
  readonly ring: () => void
  readonly drainSoon: () => void
  readonly readMarks: (topic: string) => Promise<ReadonlyMap<number, Watermarks>>
  readonly partitionCounts: Pick<PartitionCounts, 'changeOf'>
  /** The number of partitions that keys are spread over. Stored with each new checkpoint. */
  readonly keyPartitions?: number | undefined
  /** Aborted when the runner stops. */
  readonly signal: AbortSignal
}

/** The partitions that the consumer group has assigned to this process. */
interface Assignments {
  /** Opens the checkpoints of an assignment. Only `begin` changes the owned partitions, as a later assignment may come first. */
  readonly positions: GroupReaderHandlers['positions']
  /** Replaces the owned partitions. Ends the work of the last assignment, even on partitions that stay. */
  readonly begin: (assigned: ReadonlyMap<string, readonly number[]>) => void
  readonly owned: () => readonly Partition[]
  /** Returns owned partitions, and partitions whose checkpoints cannot be opened yet. */
  readonly reported: () => readonly ReportedPartition[]
  readonly find: (topic: string, partition: number) => Partition | undefined
}

interface OpenedPartition {
  readonly fold: PartitionFold
  readonly fetchFrom: bigint
  /** The log's end when the checkpoint was read. */
  readonly logEnd: bigint
  /** The reason why the partition must not be read. */
  readonly haltedBy?: Error | undefined
}

export function createAssignments<Fact extends AnyFact, Draft>(options: AssignmentsOptions<Fact, Draft>): Assignments {
  const { parts, logger, metrics, now, ring, drainSoon, readMarks, partitionCounts, keyPartitions, signal } = options
  const opened = new Map<string, OpenedPartition>()
  const opening = new Map<string, { readonly one: ReportedPartition; readonly tracker: ProgressTracker }>()
  let owned: ReadonlyMap<string, Partition> = new Map()
  let ended = new AbortController()

  async function open(topic: string, partition: number, marks: Watermarks): Promise<OpenedPartition> {
    const changed = await partitionCounts.changeOf(topic, partition)
    // The number that a refused partition was read with is the wrong one: it is not stored.
    const fold = createPartitionFold({ ...parts, topic, partition, ...(!changed && { keyPartitions }) })
    const { nextOffset } = await fold.open()
    // The marks are older than the checkpoint: the last owner may have passed them meanwhile.
    const log = nextOffset > marks.high ? await readMarksOf(topic, partition) : marks
    const haltedBy = changed ?? outsideLog(fold.key, nextOffset, log)
    if (!haltedBy) await endAlarms(parts.db, fold.key, { openedBefore: log.high })
    return { fold, fetchFrom: fetchOffsetOf(nextOffset, marks), logEnd: log.high, haltedBy }
  }

  async function readMarksOf(topic: string, partition: number): Promise<Watermarks> {
    const marks = (await readMarks(topic)).get(partition)
    if (!marks) throw new TopicMissingError([topic])
    return marks
  }

  /** Postgres may be unavailable when partitions are assigned. Waiting here delays only this process. */
  const positions: Assignments['positions'] = async (topic, partitions) => {
    for (const [name, { one }] of opening)
      if (one.topic === topic && !partitions.has(one.partition)) opening.delete(name)
    const beginning = Array.from(partitions, ([partition, marks]) => {
      return { partition, marks, progress: trackOpening(topic, partition, marks) }
    })
    const found = new Map<number, bigint>()
    for (const { partition, marks, progress } of beginning) {
      const one = await keepTrying(() => open(topic, partition, marks), progress)
      opened.set(topicPartition(topic, partition), one)
      if (!one.haltedBy) found.set(partition, one.fetchFrom)
    }
    return found
  }

  /** Tries again while Postgres or Kafka is unavailable. Throws errors that another attempt cannot fix. */
  async function keepTrying<T>(attempt: () => Promise<T>, progress: ProgressTracker): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      if (signal.aborted) throw new RunnerStoppedError()
      try {
        return await attempt()
      } catch (error) {
        if (!mayPass(error)) throw error
        const backOffMs = backOffAfter(failures)
        progress.noticeFailed(error, 'Cannot open the checkpoint now; trying again', backOffMs)
        await sleep(backOffMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  /** The wait of a partition counts from its first assignment, even if it is assigned again before it is opened. */
  function trackOpening(topic: string, partition: number, { high }: Watermarks): ProgressTracker {
    const name = topicPartition(topic, partition)
    const known = opening.get(name)
    if (known) return known.tracker
    const place = { topic, partition }
    // The number of waiting records is unknown until the checkpoint is read: it counts as one.
    const end = { logEnd: high + 1n, nextOffset: () => high }
    const tracker = createProgressTracker({ ...place, ...end, now, metrics, logger })
    opening.set(name, { one: { ...place, progress: tracker.read, setAside: () => {} }, tracker })
    return tracker
  }

  function take(topic: string, partition: number): Partition {
    const name = topicPartition(topic, partition)
    const found = opened.get(name)
    if (!found) throw new Error(`${name} was assigned, but its checkpoint was never opened`)
    opened.delete(name)
    const until = AbortSignal.any([signal, ended.signal])
    const { haltedBy, fold, logEnd } = found
    const one = createPartition({ fold, logEnd, metrics, now, logger, ring, drainSoon, signal: until })
    if (haltedBy) one.halt(haltedBy)
    return one
  }

  const begin: Assignments['begin'] = (assigned) => {
    ended.abort()
    ended = new AbortController()
    const partitions = [...assigned].flatMap(([topic, ofTopic]) => ofTopic.map((partition) => take(topic, partition)))
    owned = new Map(partitions.map((one) => [topicPartition(one.topic, one.partition), one]))
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
    find: (topic, partition) => owned.get(topicPartition(topic, partition)),
  }
}

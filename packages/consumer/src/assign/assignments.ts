import { keepTrying, type LogAdmin, TopicMissingError, topicPartition, type Watermarks } from '@nextvisit/log'
import { LogUnavailableError, mayPass } from '../core/errors.ts'
import type { AnyFact } from '../core/projection.ts'
import type { FoldParts } from '../fold/fold-parts.ts'
import { createPartition, type Partition, type PartitionOptions } from '../partition/partition.ts'
import { fetchOffsetOf, outsideLog } from '../fold/batch-in-log.ts'
import { createPartitionFold } from '../partition/partition-fold.ts'
import { createProgressTracker, type ProgressTracker } from '../partition/progress-tracker.ts'
import { endAlarms } from '../watch/partition-alarms.ts'
import type { OwnedPartitions } from './owned-partitions.ts'
import type { PartitionCounts } from './partition-counts.ts'

interface AssignmentsParts<Fact extends AnyFact, Draft>
  extends Pick<PartitionOptions, 'metrics' | 'now' | 'logger' | 'wake' | 'drainSoon'> {
  /** The parts of a fold, with the connections for ticks. */
  readonly parts: FoldParts<Fact, Draft>
  readonly owned: OwnedPartitions
  readonly logAdmin: Pick<LogAdmin, 'watermarks'>
  readonly partitionCounts: Pick<PartitionCounts, 'changeOf'>
  /** The number of partitions that keys are spread over. Stored with each new checkpoint. */
  readonly keyPartitions?: number | undefined
  /** Aborted with `RunnerStoppedError` when the runner stops. */
  readonly signal: AbortSignal
}

/** The assignments of a consumer group, one after the other. */
interface Assignments {
  /**
   * Opens the checkpoints of assigned partitions, and returns the positions to read from. Halted partitions have none.
   * Owned partitions change only with `begin`, because a later assignment may overtake this one. While Postgres or Kafka is
   * unavailable it retries, which delays only this process. Throws errors that another attempt cannot fix.
   */
  readonly openPositions: (partitions: ReadonlyMap<number, Watermarks>) => Promise<ReadonlyMap<number, bigint>>
  /** Replaces the owned partitions. Ends the work of the last assignment, even on partitions that stay. */
  readonly begin: (partitions: readonly number[]) => void
}

export function createAssignments<Fact extends AnyFact, Draft>(own: AssignmentsParts<Fact, Draft>): Assignments {
  const { parts, owned, logAdmin, partitionCounts, keyPartitions, metrics, now, logger, wake, drainSoon, signal } = own
  const { topic } = parts.projection
  const opened = new Map<number, Awaited<ReturnType<typeof open>>>()
  let ended = new AbortController()

  const openPositions: Assignments['openPositions'] = async (partitions) => {
    for (const partition of owned.opening.keys()) if (!partitions.has(partition)) owned.opening.delete(partition)
    const beginning = Array.from(partitions, ([partition, marks]) => {
      return { partition, marks, tracker: trackOpening(partition, marks) }
    })
    const positions = new Map<number, bigint>()
    for (const { partition, marks, tracker } of beginning) {
      const found = await keepTrying(() => open(partition, marks), {
        message: 'Cannot open the checkpoint now; trying again',
        logger: { warn: ({ err, backOffMs }, message) => tracker.noticeFailed(err, message, backOffMs) },
        isFinal: (error) => !mayPass(error),
        signal,
      })
      opened.set(partition, found)
      if (!found.haltedBy) positions.set(partition, found.fetchFrom)
    }
    return positions
  }

  /** Returns the fold, and `haltedBy`: the reason why the partition must not be read. */
  async function open(partition: number, marks: Watermarks) {
    const changed = await partitionCounts.changeOf(topic, partition)
    // The number that a refused partition was read with is the wrong one: it is not stored.
    const fold = createPartitionFold({ ...parts, topic, partition, ...(!changed && { keyPartitions }) })
    const { nextOffset } = await fold.open()
    // The marks are older than the checkpoint: the last owner may have passed them meanwhile.
    const log = nextOffset > marks.high ? await readMarks(partition) : marks
    const haltedBy = changed ?? outsideLog(fold.key, nextOffset, log)
    if (!haltedBy) await endAlarms(parts.db, fold.key, { openedBefore: log.high })
    return { fold, fetchFrom: fetchOffsetOf(nextOffset, marks), logEnd: log.high, haltedBy }
  }

  async function readMarks(partition: number): Promise<Watermarks> {
    const all = await logAdmin.watermarks(topic).catch((cause: unknown) => {
      throw new LogUnavailableError({ cause })
    })
    const marks = all.get(partition)
    if (!marks) throw new TopicMissingError([topic])
    return marks
  }

  /** A partition waits since its first assignment, even if it is assigned again before its checkpoint is open. */
  function trackOpening(partition: number, { high }: Watermarks): ProgressTracker {
    const known = owned.opening.get(partition)
    if (known) return known.tracker
    const place = { topic, partition }
    // The number of waiting records is unknown until the checkpoint is read: it counts as one.
    const end = { logEnd: high + 1n, nextOffset: () => high }
    const tracker = createProgressTracker({ ...place, ...end, now, metrics, logger })
    owned.opening.set(partition, { reported: { ...place, progress: tracker.read, setAside: () => {} }, tracker })
    return tracker
  }

  function take(partition: number): Partition {
    const found = opened.get(partition)
    if (!found) throw new Error(`${topicPartition(topic, partition)} was assigned, but its checkpoint was never opened`)
    opened.delete(partition)
    const { haltedBy, fold, logEnd } = found
    const untilLost = AbortSignal.any([signal, ended.signal])
    const taken = createPartition({ fold, logEnd, metrics, now, logger, wake, drainSoon, signal: untilLost })
    if (haltedBy) taken.halt(haltedBy)
    return taken
  }

  return {
    openPositions,
    begin: (partitions) => {
      ended.abort()
      ended = new AbortController()
      owned.replace(partitions.map(take))
      owned.opening.clear()
      logger.info({ partitions: partitions.join(',') }, `Folding ${partitions.length} partitions`)
    },
  }
}

import type { FetchedBatch, Logger } from '@nextvisit/log'
import { causeOf, FoldFailedError } from '../core/errors.ts'
import type { Folded, Stale } from '../fold/partition-batch.ts'
import {
  haltOf,
  type PartitionAlarm,
  type PartitionProgress,
  type ProgressFacts,
  progressOf,
} from './partition-progress.ts'
import type { RunnerMetrics } from './runner-metrics.ts'

interface ProgressTrackerOptions {
  readonly topic: string
  readonly partition: number
  /** The log's end when the partition was assigned. */
  readonly logEnd: bigint
  /** Returns the checkpoint's next offset. */
  readonly nextOffset: () => bigint
  readonly now: () => Date
  readonly metrics: Pick<RunnerMetrics, 'retries' | 'staleCommits' | 'deadLetters' | 'duplicates'>
  readonly logger: Logger
}

/** Keeps the progress of a partition, and reports its commits and failures in metrics and logs. */
export interface ProgressTracker {
  /** Notes the log's present end. */
  readonly noticeEnd: (end: bigint) => void
  /** Notes that the checkpoint has moved within the batch, or past it. */
  readonly noticeFolded: (batch: FetchedBatch) => void
  /** Notes a commit of a batch, a tick or a retry that succeeded, or that the fence stopped. */
  readonly noticeCommit: (outcome: Folded | Stale) => void
  /** Notes an attempt that failed and is repeated. `message` is logged. */
  readonly noticeFailed: (error: unknown, message: string, backOffMs: number) => void
  /** Notes that the broker does not serve the partition. The reader retries, so no batch does. */
  readonly noticeRefused: (error: unknown) => void
  /** Notes that no attempt helps before an operator acts. */
  readonly noticeHalted: (error: unknown) => void
  readonly noticeTicked: () => void
  readonly noticeTickFailed: (error: unknown) => void
  readonly halted: () => PartitionAlarm | undefined
  readonly read: () => PartitionProgress
}

const SWAPPED = 'The read models were swapped by a replay; continuing from their checkpoint'
const REFUSED = 'Cannot be read now; trying again'
const OVERTAKEN = 'Another owner moved the checkpoint; continuing from there'
const DEAD_LETTERS = 'Records are dead letters now; see nextvisit dead-letters list'
const CONTINUES = 'This partition is no longer halted; continuing'
const HALTED = 'This partition is halted, the others continue; see docs/runbooks/halted.md'

export function createProgressTracker(options: ProgressTrackerOptions): ProgressTracker {
  const { topic, partition, nextOffset, now, metrics, logger, logEnd } = options
  const place = { topic, partition }
  const nowMs = () => now().getTime()
  const facts: ProgressFacts = { logEnd, advancedAtMs: nowMs(), caughtUpAtMs: 0 }
  const halted = () => haltOf(facts, nextOffset())

  return {
    noticeEnd: (end) => {
      if (nextOffset() >= facts.logEnd) facts.caughtUpAtMs = nowMs()
      if (end > facts.logEnd) facts.logEnd = end
    },
    noticeFolded: ({ records }) => {
      facts.advancedAtMs = nowMs()
      facts.failure = undefined
      if (facts.halt && !halted()) {
        logger.info({ ...place, offset: facts.halt.offset.toString() }, CONTINUES)
        facts.halt = undefined
      }
      facts.lastRecordMs = records.findLast(({ offset }) => offset < nextOffset())?.timestampMs ?? facts.lastRecordMs
    },
    noticeCommit: (outcome) => {
      if (outcome.outcome === 'stale') {
        metrics.staleCommits.inc()
        if (outcome.isSwapped) logger.info(place, SWAPPED)
        else logger.warn(place, OVERTAKEN)
        return
      }
      const { deadLetters, duplicates } = outcome
      metrics.duplicates.inc(duplicates)
      if (deadLetters === 0) return
      metrics.deadLetters.inc(deadLetters)
      logger.error({ ...place, deadLetters }, DEAD_LETTERS)
    },
    noticeFailed: (error, message, backOffMs) => {
      facts.failure = { sinceMs: nowMs(), error }
      metrics.retries.inc()
      logger.warn({ ...place, err: error, backOffMs }, message)
    },
    noticeRefused: (error) => {
      facts.failure = { sinceMs: nowMs(), error }
      logger.warn({ ...place, err: error }, REFUSED)
    },
    noticeHalted: (error) => {
      const record = error instanceof FoldFailedError ? error.record : undefined
      const offset = record?.offset ?? nextOffset()
      const recordId = record && (record.id ?? 'none')
      const known = halted()
      const isNew = known?.offset !== offset
      facts.halt = { kind: 'halted', offset, recordId, sinceMs: isNew ? nowMs() : known.sinceMs, ...causeOf(error) }
      if (isNew) logger.error({ ...place, offset: offset.toString(), recordId, err: error }, HALTED)
    },
    noticeTicked: () => {
      facts.tickFailure = undefined
    },
    noticeTickFailed: (error) => {
      facts.tickFailure = { sinceMs: facts.tickFailure?.sinceMs ?? nowMs(), error }
    },
    halted,
    read: () => ({ ...place, ...progressOf(facts, nextOffset(), nowMs()) }),
  }
}

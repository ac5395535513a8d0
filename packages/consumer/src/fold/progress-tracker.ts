import type { FetchedBatch, Logger } from '@nextvisit/log'
import { FoldFailedError, mayPass } from '../core/errors.ts'
import type { Folded, Stale } from './outcome.ts'
import { causeOf, type PartitionAlarm } from '../watch/partition-alarms.ts'
import type { PartitionProgress } from '../watch/partition-progress.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'

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
  /** Notes that no attempt helps before an operator acts. */
  readonly noticeHalted: (error: unknown) => void
  readonly noticeTicked: () => void
  readonly noticeTickFailed: (error: unknown) => void
  readonly halted: () => PartitionAlarm | undefined
  readonly read: () => PartitionProgress
}

const SWAPPED = 'The read models were swapped by a replay; continuing from their checkpoint'
const OVERTAKEN = 'Another owner moved the checkpoint; continuing from there'
const DEAD_LETTERS = 'Records are dead letters now; see nextvisit dead-letters list'
const HALTED = 'This partition is halted, the others continue; see docs/runbooks/halted.md'

/** Failures are reported after this time, ms. A bug is reported at once. */
const REPORTED_AFTER_MS = 60_000

interface Failure {
  readonly sinceMs: number
  readonly error: unknown
}

export function createProgressTracker(options: ProgressTrackerOptions): ProgressTracker {
  const { topic, partition, nextOffset, now, metrics, logger } = options
  const place = { topic, partition }
  const nowMs = () => now().getTime()
  let { logEnd } = options
  let lastRecordMs: number | undefined
  let advancedAtMs = nowMs()
  /** The last time at which every known record was folded. A record that comes after a quiet hour has not waited an hour. */
  let caughtUpAtMs = 0
  let failed: Failure | undefined
  let halted: PartitionAlarm | undefined
  let tickFailure: Failure | undefined

  /** Ends with a checkpoint past the halt: a later owner or a replay may have moved it. */
  const currentHalt = () => (halted && halted.offset >= nextOffset() ? halted : undefined)

  function stall(stalledMs: number): PartitionAlarm | undefined {
    if (stalledMs < REPORTED_AFTER_MS) return undefined
    const cause = failed
      ? causeOf(failed.error)
      : { code: 'NO_ANSWER', message: 'Nothing has failed: the batch hangs.' }
    return { kind: 'stalled', offset: nextOffset(), sinceMs: nowMs() - stalledMs, ...cause }
  }

  function failingTicks(): PartitionAlarm | undefined {
    if (!tickFailure) return undefined
    const { sinceMs, error } = tickFailure
    if (mayPass(error) && nowMs() - sinceMs < REPORTED_AFTER_MS) return undefined
    return { kind: 'ticks', offset: nextOffset(), sinceMs, ...causeOf(error) }
  }

  function noticeCommit(outcome: Folded | Stale): void {
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
  }

  const read: ProgressTracker['read'] = () => {
    const own = {
      ...place,
      nextOffset: nextOffset(),
      ticksFailMs: tickFailure ? nowMs() - tickFailure.sinceMs : 0,
    }
    const isCaughtUp = own.nextOffset >= logEnd
    const waitsSinceMs = Math.max(advancedAtMs, caughtUpAtMs)
    const stalledMs = isCaughtUp ? 0 : nowMs() - waitsSinceMs
    const found = currentHalt()
    const alarms = [found ?? stall(stalledMs), failingTicks()].filter((alarm) => alarm !== undefined)
    if (isCaughtUp) return { ...own, lagRecords: 0n, lagSeconds: 0, stalledMs, hangsMs: 0, alarms }
    const foldedUpToMs = Math.max(lastRecordMs ?? advancedAtMs, caughtUpAtMs)
    return {
      ...own,
      lagRecords: logEnd - own.nextOffset,
      lagSeconds: Math.max(0, nowMs() - foldedUpToMs) / 1_000,
      stalledMs,
      hangsMs: found ? 0 : nowMs() - Math.max(waitsSinceMs, failed?.sinceMs ?? 0),
      alarms,
    }
  }

  return {
    noticeEnd: (end) => {
      if (nextOffset() >= logEnd) caughtUpAtMs = nowMs()
      if (end > logEnd) logEnd = end
    },
    noticeFolded: ({ records }) => {
      advancedAtMs = nowMs()
      failed = undefined
      lastRecordMs = records.findLast(({ offset }) => offset < nextOffset())?.timestampMs ?? lastRecordMs
    },
    noticeCommit,
    noticeFailed: (error, message, backOffMs) => {
      failed = { sinceMs: nowMs(), error }
      metrics.retries.inc()
      logger.warn({ ...place, err: error, backOffMs }, message)
    },
    noticeHalted: (error) => {
      const record = error instanceof FoldFailedError ? error.record : undefined
      const offset = record?.offset ?? nextOffset()
      const recordId = record && (record.id ?? 'none')
      const known = currentHalt()
      const isNew = known?.offset !== offset
      halted = { kind: 'halted', offset, recordId, sinceMs: isNew ? nowMs() : known.sinceMs, ...causeOf(error) }
      if (isNew) logger.error({ ...place, offset: offset.toString(), recordId, err: error }, HALTED)
    },
    noticeTicked: () => {
      tickFailure = undefined
    },
    noticeTickFailed: (error) => {
      tickFailure = { sinceMs: tickFailure?.sinceMs ?? nowMs(), error }
    },
    halted: currentHalt,
    read,
  }
}

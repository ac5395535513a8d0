import type { FetchedBatch } from '@nextvisit/log'
import { FoldFailedError, mayPass } from '../errors.ts'
import { causeOf, type PartitionAlarm } from './partition-alarms.ts'

/** The progress of a partition, for operators. */
export interface PartitionProgress {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  readonly lagRecords: bigint
  /** While records wait: age of the last folded record, or of the log's end if that was reached later. Otherwise 0. */
  readonly lagSeconds: number
  /** Time for which records have waited while none was folded, in spite of all attempts. */
  readonly stalledMs: number
  /** Time for which no attempt has succeeded or failed either: the process may hang, and a new one may do better. */
  readonly hangsMs: number
  /** Time for which ticks have failed. */
  readonly ticksFailMs: number
  readonly alarms: readonly PartitionAlarm[]
}

/** A partition in the terms of operators. */
export interface ReportedPartition {
  readonly topic: string
  readonly partition: number
  readonly progress: () => PartitionProgress
  /** Makes the record at which the partition is halted a dead letter, for an operator. Ignores other offsets. */
  readonly setAside: (offset: bigint, by: string) => void
}

interface ProgressTrackerOptions {
  readonly topic: string
  readonly partition: number
  /** The log's end when the partition was assigned. */
  readonly logEnd: bigint
  /** Returns the checkpoint's next offset. */
  readonly nextOffset: () => bigint
  readonly now: () => Date
}

export interface ProgressTracker {
  /** Notes the log's present end. */
  readonly noticeEnd: (end: bigint) => void
  /** Notes that the checkpoint has moved within the batch, or past it. */
  readonly noticeFolded: (batch: FetchedBatch) => void
  /** Notes an attempt that failed and is repeated. */
  readonly noticeRefused: (error: unknown) => void
  /** Notes that no attempt helps before an operator acts. Returns true if this is new. */
  readonly noticeHalted: (error: unknown) => boolean
  readonly noticeTicked: () => void
  readonly noticeTickFailed: (error: unknown) => void
  readonly halted: () => PartitionAlarm | undefined
  readonly read: () => PartitionProgress
}

/** Failures are reported after this time, ms. A bug is reported at once. */
const REPORTED_AFTER_MS = 60_000

interface Failure {
  readonly sinceMs: number
  readonly error: unknown
}

export function createProgressTracker(options: ProgressTrackerOptions): ProgressTracker {
  const { topic, partition, nextOffset, now } = options
  const nowMs = () => now().getTime()
  let { logEnd } = options
  let lastRecordMs: number | undefined
  let advancedAtMs = nowMs()
  /** The last time at which every known record was folded. A record that comes after a quiet hour has not waited an hour. */
  let caughtUpAtMs = 0
  let refused: Failure | undefined
  let halted: PartitionAlarm | undefined
  let tickFailure: Failure | undefined

  /** Ends with a checkpoint past the halt: a later owner or a replay may have moved it. */
  const currentHalt = () => (halted && halted.offset >= nextOffset() ? halted : undefined)

  function stall(stalledMs: number): PartitionAlarm | undefined {
    if (stalledMs < REPORTED_AFTER_MS) return undefined
    const cause = refused
      ? causeOf(refused.error)
      : { code: 'NO_ANSWER', message: 'Nothing has failed: the batch hangs.' }
    return { kind: 'stalled', offset: nextOffset(), sinceMs: nowMs() - stalledMs, ...cause }
  }

  function failingTicks(): PartitionAlarm | undefined {
    if (!tickFailure) return undefined
    const { sinceMs, error } = tickFailure
    if (mayPass(error) && nowMs() - sinceMs < REPORTED_AFTER_MS) return undefined
    return { kind: 'ticks', offset: nextOffset(), sinceMs, ...causeOf(error) }
  }

  const read: ProgressTracker['read'] = () => {
    const own = {
      topic,
      partition,
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
      hangsMs: found ? 0 : nowMs() - Math.max(waitsSinceMs, refused?.sinceMs ?? 0),
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
      refused = undefined
      lastRecordMs = records.findLast(({ offset }) => offset < nextOffset())?.timestampMs ?? lastRecordMs
    },
    noticeRefused: (error) => {
      refused = { sinceMs: nowMs(), error }
    },
    noticeHalted: (error) => {
      const record = error instanceof FoldFailedError ? error.record : undefined
      const offset = record?.offset ?? nextOffset()
      const known = currentHalt()
      const sinceMs = known?.offset === offset ? known.sinceMs : nowMs()
      halted = { kind: 'halted', offset, recordId: record && (record.id ?? 'none'), sinceMs, ...causeOf(error) }
      return known?.offset !== offset
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

import { causeOf, mayPass } from '../core/errors.ts'

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

/** The reason why a partition makes no progress. An alarm ends when the checkpoint passes its offset. */
export interface PartitionAlarm {
  /** `halted`: no attempt helps. `stalled`: attempts fail or hang. `ticks`: ticks fail, but records are folded. */
  readonly kind: 'halted' | 'stalled' | 'ticks'
  /** The next offset to fold; for a fold that throws, the offset of the record that it throws for. */
  readonly offset: bigint
  /** Id of the record that the fold throws for, or `none`. Only such a record can be set aside. */
  readonly recordId?: string | undefined
  /** The code of the last error. */
  readonly code: string
  readonly message: string
  readonly sinceMs: number
}

/** A partition in the terms of operators. */
export interface ReportedPartition {
  readonly topic: string
  readonly partition: number
  readonly progress: () => PartitionProgress
  /** Makes the record at which the partition is halted a dead letter, for an operator. Ignores other offsets. */
  readonly setAside: (offset: bigint, by: string) => void
}

interface Failure {
  readonly sinceMs: number
  readonly error: unknown
}

/** The facts that the progress of a partition follows from. Instants are ms since the epoch. */
export interface ProgressFacts {
  logEnd: bigint
  /** Kafka's time of the last folded record. */
  lastRecordMs?: number | undefined
  advancedAtMs: number
  /** The last time at which every known record was folded. A record that comes after a quiet hour has not waited an hour. */
  caughtUpAtMs: number
  /** The last failure since the partition advanced. */
  failure?: Failure | undefined
  tickFailure?: Failure | undefined
  halt?: PartitionAlarm | undefined
}

/** Failures are reported after this time, ms. A bug is reported at once. */
const REPORTED_AFTER_MS = 60_000

export function progressOf(
  facts: ProgressFacts,
  nextOffset: bigint,
  nowMs: number,
): Omit<PartitionProgress, 'topic' | 'partition'> {
  const { logEnd, lastRecordMs, advancedAtMs, caughtUpAtMs, failure, tickFailure } = facts
  const isCaughtUp = nextOffset >= logEnd
  const waitsSinceMs = Math.max(advancedAtMs, caughtUpAtMs)
  const foldedUpToMs = Math.max(lastRecordMs ?? advancedAtMs, caughtUpAtMs)
  const stalledMs = isCaughtUp ? 0 : nowMs - waitsSinceMs
  const halt = haltOf(facts, nextOffset)
  const stall = stalledMs < REPORTED_AFTER_MS ? undefined : stallOf(failure, nextOffset, waitsSinceMs)
  return {
    nextOffset,
    lagRecords: isCaughtUp ? 0n : logEnd - nextOffset,
    lagSeconds: isCaughtUp ? 0 : Math.max(0, nowMs - foldedUpToMs) / 1_000,
    stalledMs,
    hangsMs: isCaughtUp || halt ? 0 : nowMs - Math.max(waitsSinceMs, failure?.sinceMs ?? 0),
    ticksFailMs: tickFailure ? nowMs - tickFailure.sinceMs : 0,
    alarms: [halt ?? stall, failingTicksOf(tickFailure, nextOffset, nowMs)].filter((alarm) => alarm !== undefined),
  }
}

/** Returns the halt. It ends with a checkpoint past it: a later owner or a replay may have moved it. */
export function haltOf({ halt }: Pick<ProgressFacts, 'halt'>, nextOffset: bigint): PartitionAlarm | undefined {
  return halt && halt.offset >= nextOffset ? halt : undefined
}

function stallOf(failure: Failure | undefined, offset: bigint, sinceMs: number): PartitionAlarm {
  const cause = failure
    ? causeOf(failure.error)
    : { code: 'NO_ANSWER', message: 'Nothing has failed: the batch hangs.' }
  return { kind: 'stalled', offset, sinceMs, ...cause }
}

function failingTicksOf(failure: Failure | undefined, offset: bigint, nowMs: number): PartitionAlarm | undefined {
  if (!failure) return undefined
  const { sinceMs, error } = failure
  if (mayPass(error) && nowMs - sinceMs < REPORTED_AFTER_MS) return undefined
  return { kind: 'ticks', offset, sinceMs, ...causeOf(error) }
}

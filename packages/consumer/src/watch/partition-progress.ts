import type { PartitionAlarm } from './partition-alarms.ts'

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

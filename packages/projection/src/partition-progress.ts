import type { FetchedBatch } from '@nextvisit/log'

/** How far a partition is folded, for operators. */
export interface PartitionProgress {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  readonly lagRecords: bigint
  /** While records wait: age of the last record folded, or of the log's end if that was reached later. Else 0. */
  readonly lagSeconds: number
  /** How long records have waited while none was folded and Postgres refused nothing. */
  readonly stalledMs: number
}

export interface ProgressTrackerOptions {
  readonly topic: string
  readonly partition: number
  /** The log's end as it was when the partition was assigned. */
  readonly logEnd: bigint
  /** The checkpoint's. */
  readonly nextOffset: () => bigint
  readonly now: () => Date
}

export interface ProgressTracker {
  /** The log ends there now. */
  readonly noticeEnd: (end: bigint) => void
  /** The batch is committed. */
  readonly noticeFolded: (batch: FetchedBatch) => void
  /** Postgres refused an attempt: a fresh process would do no better. */
  readonly noticeRefused: () => void
  readonly read: () => PartitionProgress
}

export function createProgressTracker(options: ProgressTrackerOptions): ProgressTracker {
  const { topic, partition, nextOffset, now } = options
  let { logEnd } = options
  let lastRecordMs: number | undefined
  let advancedAtMs = now().getTime()
  /** When everything known was folded, last. A record that comes after a quiet hour has not waited for an hour. */
  let caughtUpAtMs = 0
  let refusedAtMs = 0

  return {
    noticeEnd: (end) => {
      if (nextOffset() >= logEnd) caughtUpAtMs = now().getTime()
      if (end > logEnd) logEnd = end
    },
    noticeFolded: ({ records }) => {
      advancedAtMs = now().getTime()
      lastRecordMs = records.at(-1)?.timestampMs ?? lastRecordMs
    },
    noticeRefused: () => {
      refusedAtMs = now().getTime()
    },
    read: () => {
      const own = { topic, partition, nextOffset: nextOffset() }
      if (own.nextOffset >= logEnd) return { ...own, lagRecords: 0n, lagSeconds: 0, stalledMs: 0 }
      const nowMs = now().getTime()
      const foldedUpToMs = Math.max(lastRecordMs ?? advancedAtMs, caughtUpAtMs)
      return {
        ...own,
        lagRecords: logEnd - own.nextOffset,
        lagSeconds: Math.max(0, nowMs - foldedUpToMs) / 1_000,
        stalledMs: nowMs - Math.max(advancedAtMs, caughtUpAtMs, refusedAtMs),
      }
    },
  }
}

import type { FetchedBatch, Logger } from '@nextvisit/log'
import type { FoldResult, PartitionFold } from './partition-fold.ts'
import { retryWhilePostgresIsAway } from './postgres-retry.ts'
import type { RunnerMetrics } from './runner-metrics.ts'

/** Where a partition stands, for operators. */
export interface PartitionProgress {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  readonly lagRecords: bigint
  /** Age of the last record folded, or of the log's end if that was reached later, while there are more; else 0. */
  readonly lagSeconds: number
  /** How long something has waited to be folded, and neither was any folded nor Postgres asked in vain. */
  readonly stalledMs: number
}

export interface OwnedPartitionOptions {
  readonly topic: string
  readonly partition: number
  /** Opened. */
  readonly fold: PartitionFold
  /** The log's end as it was when the partition was assigned. */
  readonly logEnd: bigint
  readonly logger: Logger
  readonly metrics: RunnerMetrics
  readonly now: () => Date
  /** Aborted when this process is to fold the partition no more: what waits for Postgres ends with a RunnerStoppedError. */
  readonly signal: AbortSignal
}

/** A partition that this process folds now: its batches and ticks, one at a time. */
export interface OwnedPartition {
  readonly partition: number
  readonly topic: string
  /** Resolves once the batch is committed, by us or by somebody else. */
  readonly handle: (batch: FetchedBatch) => Promise<void>
  /** The log ends there now. */
  readonly noticeEnd: (end: bigint) => void
  /** As of `instant`, when the log ended at `end`: runs once the checkpoint has passed that. */
  readonly tick: (instant: Date, end: bigint) => Promise<void>
  readonly progress: () => PartitionProgress
}

const SWAPPED = 'The read models were swapped by a replay; going on from their checkpoint'

export function createOwnedPartition(options: OwnedPartitionOptions): OwnedPartition {
  const { topic, partition, fold, logger, metrics, now, signal } = options
  const place = { topic, partition }
  let work: Promise<unknown> = Promise.resolve()
  let pendingTick: { readonly instant: Date; readonly end: bigint } | undefined
  let { logEnd } = options
  let lastRecordMs: number | undefined
  let advancedAtMs = now().getTime()
  /** When everything known of was folded, last. What comes after a quiet hour has not waited for an hour. */
  let caughtUpAtMs = 0
  /** When Postgres was last asked in vain: a fresh process would do no better. */
  let refusedAtMs = 0

  /** One thing at a time, in the order asked for. */
  const next = <T>(task: () => Promise<T>): Promise<T> => {
    const result = work.then(task)
    work = result.catch(() => {})
    return result
  }

  /** Until it is done: while Postgres is away, and while others move the checkpoint. */
  const persist = async (attempt: () => Promise<FoldResult>): Promise<FoldResult & { outcome: 'folded' }> => {
    for (;;) {
      const result = await retryWhilePostgresIsAway(attempt, {
        signal,
        logger,
        place,
        onRetry: () => {
          metrics.retries.inc()
          refusedAtMs = now().getTime()
        },
      })
      if (result.outcome === 'folded') return result
      metrics.staleCommits.inc()
      if (result.isSwapped) logger.info(place, SWAPPED)
      else logger.warn(place, 'Another owner moved the checkpoint; going on from where it is now')
    }
  }

  const isBehind = (): boolean => fold.checkpoint().nextOffset < logEnd

  const noticeEnd = (end: bigint): void => {
    if (!isBehind()) caughtUpAtMs = now().getTime()
    if (end > logEnd) logEnd = end
  }

  const handle: OwnedPartition['handle'] = (batch) => {
    noticeEnd(batch.highWatermark)
    return next(async () => {
      const done = metrics.foldSeconds.startTimer()
      const result = await persist(() => fold.fold(batch))
      done()
      advancedAtMs = now().getTime()
      lastRecordMs = batch.records.at(-1)?.timestampMs ?? lastRecordMs
      tell(result)
      await runPendingTick()
    })
  }

  const tell = ({ records, deadLetters, copies }: FoldResult & { outcome: 'folded' }): void => {
    if (records > 0) metrics.batchRecords.observe(records)
    metrics.copies.inc(copies)
    if (deadLetters === 0) return
    metrics.deadLetters.inc(deadLetters)
    logger.error(
      { ...place, deadLetters },
      'Records could not be parsed and are dead letters now; see nextvisit dead-letters list',
    )
  }

  const runPendingTick = async (): Promise<void> => {
    if (!pendingTick || fold.checkpoint().nextOffset < pendingTick.end) return
    const { instant } = pendingTick
    pendingTick = undefined
    tell(await persist(() => fold.tick(instant)))
  }

  return {
    topic,
    partition,
    handle,
    noticeEnd,
    tick: (instant, end) =>
      next(async () => {
        // One that waits for the checkpoint keeps its instant: under constant load a later one would never come due.
        pendingTick ??= { instant, end }
        await runPendingTick()
      }),
    progress: () => {
      const { nextOffset } = fold.checkpoint()
      if (!isBehind()) return { ...place, nextOffset, lagRecords: 0n, lagSeconds: 0, stalledMs: 0 }
      const nowMs = now().getTime()
      const foldedUpToMs = Math.max(lastRecordMs ?? advancedAtMs, caughtUpAtMs)
      return {
        ...place,
        nextOffset,
        lagRecords: logEnd - nextOffset,
        lagSeconds: Math.max(0, nowMs - foldedUpToMs) / 1_000,
        stalledMs: nowMs - Math.max(advancedAtMs, caughtUpAtMs, refusedAtMs),
      }
    },
  }
}

import type { FetchedBatch, Logger } from '@nextvisit/log'
import type { FoldResult } from './fold-result.ts'
import type { PartitionFold } from './partition-fold.ts'
import { createProgressTracker, type PartitionProgress } from './partition-progress.ts'
import { retryWhilePostgresIsAway } from './postgres-retry.ts'
import type { RunnerMetrics } from './runner-metrics.ts'

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
  /** Aborted when this process loses the partition: what waits for Postgres then ends with a RunnerStoppedError. */
  readonly signal: AbortSignal
}

/** A partition that this process folds now: its batches and ticks, one at a time. */
export interface OwnedPartition {
  readonly partition: number
  readonly topic: string
  /** Resolves once the batch is committed, by this process or by another. */
  readonly handle: (batch: FetchedBatch) => Promise<void>
  /** The log ends there now. */
  readonly noticeEnd: (end: bigint) => void
  /** As of `instant`, when the log ended at `end`: runs once the checkpoint has passed `end`. */
  readonly tick: (instant: Date, end: bigint) => Promise<void>
  readonly progress: () => PartitionProgress
}

const SWAPPED = 'The read models were swapped by a replay; continuing from their checkpoint'
const OVERTAKEN = 'Another owner moved the checkpoint; continuing from there'
const DEAD_LETTERS = 'Records could not be parsed and are dead letters now; see nextvisit dead-letters list'

export function createOwnedPartition(options: OwnedPartitionOptions): OwnedPartition {
  const { topic, partition, fold, logEnd, logger, metrics, now, signal } = options
  const topicPartition = { topic, partition }
  const nextOffset = () => fold.checkpoint().nextOffset
  const progress = createProgressTracker({ ...topicPartition, logEnd, nextOffset, now })
  let work: Promise<unknown> = Promise.resolve()
  let pendingTick: { readonly instant: Date; readonly end: bigint } | undefined

  /** One thing at a time, in the order of the calls. */
  const next = <T>(task: () => Promise<T>): Promise<T> => {
    const result = work.then(task)
    work = result.catch(() => {})
    return result
  }

  const onRetry = (): void => {
    metrics.retries.inc()
    progress.noticeRefused()
  }

  /** Repeats the attempt until it is committed: while Postgres is unavailable, and while others move the checkpoint. */
  const persist = async (attempt: () => Promise<FoldResult>): Promise<void> => {
    for (;;) {
      const result = await retryWhilePostgresIsAway(attempt, { signal, logger, topicPartition, onRetry })
      if (result.outcome === 'folded') return report(result)
      metrics.staleCommits.inc()
      if (result.isSwapped) logger.info(topicPartition, SWAPPED)
      else logger.warn(topicPartition, OVERTAKEN)
    }
  }

  const report = ({ records, deadLetters, duplicates }: FoldResult & { outcome: 'folded' }): void => {
    if (records > 0) metrics.batchRecords.observe(records)
    metrics.duplicates.inc(duplicates)
    if (deadLetters === 0) return
    metrics.deadLetters.inc(deadLetters)
    logger.error({ ...topicPartition, deadLetters }, DEAD_LETTERS)
  }

  const runPendingTick = async (): Promise<void> => {
    if (!pendingTick || nextOffset() < pendingTick.end) return
    const { instant } = pendingTick
    pendingTick = undefined
    await persist(() => fold.tick(instant))
  }

  return {
    topic,
    partition,
    handle: (batch) => {
      progress.noticeEnd(batch.highWatermark)
      return next(async () => {
        const stopTimer = metrics.foldSeconds.startTimer()
        await persist(() => fold.fold(batch))
        stopTimer()
        progress.noticeFolded(batch)
        await runPendingTick()
      })
    },
    noticeEnd: progress.noticeEnd,
    tick: (instant, end) =>
      next(async () => {
        // A tick that waits for the checkpoint keeps its instant: under constant load a later one would never come due.
        pendingTick ??= { instant, end }
        await runPendingTick()
      }),
    progress: progress.read,
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { causeOfSetAside } from '@nextvisit/contracts'
import type { FetchedBatch, Logger } from '@nextvisit/log'
import { RunnerStoppedError } from '../errors.ts'
import { createProgressTracker, type PartitionProgress } from '../watch/partition-progress.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'
import type { FoldResult } from './fold-result.ts'
import type { PartitionFold } from './partition-fold.ts'
import { retryWhilePostgresIsUnavailable } from './postgres-retry.ts'

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
  /** Rows that nobody else told of may be in the outbox. */
  readonly drainSoon: () => void
  /** Aborted when this process loses the partition: what waits for Postgres then ends with a RunnerStoppedError. */
  readonly signal: AbortSignal
}

/** A partition that this process folds now: its batches and ticks, one at a time. */
export interface OwnedPartition {
  readonly partition: number
  readonly topic: string
  /**
   * Resolves once the batch is committed, by this process or by another. Waits for an operator at a record that the fold
   * throws for. Rejects only with RunnerStoppedError.
   */
  readonly handle: (batch: FetchedBatch) => Promise<void>
  /** The partition cannot be read: reports it until the partition is assigned again. */
  readonly halt: (error: Error) => void
  /** An operator wants this record to be a dead letter. Does nothing unless the partition is halted there. */
  readonly setAside: (offset: bigint, by: string) => void
  /** The log ends there now. */
  readonly noticeEnd: (end: bigint) => void
  /**
   * As of `instant`, when the log ended at `end`: runs once the checkpoint has passed `end`. Never rejects: failures are
   * in the progress, and the next call tries again.
   */
  readonly tick: (instant: Date, end: bigint) => Promise<void>
  /** The round of ticks found nothing to do here, or failed. */
  readonly noticeTicks: (failure?: unknown) => void
  readonly progress: () => PartitionProgress
}

const SWAPPED = 'The read models were swapped by a replay; continuing from their checkpoint'
const OVERTAKEN = 'Another owner moved the checkpoint; continuing from there'
const DEAD_LETTERS = 'Records are dead letters now; see nextvisit dead-letters list'
const HALTED = 'This partition is halted, the others continue; see docs/runbooks/halted.md'

/** What halted a partition may be gone (a missing right, for example), so it is tried again now and then. */
const HALTED_RETRY_MS = 60_000
/** A tick that fails may take as long as a statement may: the batches between ticks need time, too. */
const FAILED_TICK_PAUSE_MS = 5_000

export function createOwnedPartition(options: OwnedPartitionOptions): OwnedPartition {
  const { topic, partition, fold, logEnd, logger, metrics, now, drainSoon, signal } = options
  const topicPartition = { topic, partition }
  const nextOffset = () => fold.checkpoint().nextOffset
  const progress = createProgressTracker({ ...topicPartition, logEnd, nextOffset, now })
  let work: Promise<unknown> = Promise.resolve()
  let pendingTick: { readonly instant: Date; readonly end: bigint } | undefined
  let noTickBeforeMs = 0
  let wake: (() => void) | undefined

  /** One thing at a time, in the order of the calls. */
  const next = <T>(task: () => Promise<T>): Promise<T> => {
    const result = work.then(task)
    work = result.catch(() => {})
    return result
  }

  const onRetry = (error: unknown): void => {
    metrics.retries.inc()
    progress.noticeRefused(error)
  }

  /** Repeats the attempt while others move the checkpoint. */
  const commit = async (attempt: () => Promise<FoldResult>): Promise<void> => {
    for (;;) {
      const result = await attempt()
      if (result.outcome === 'folded') return report(result)
      metrics.staleCommits.inc()
      // Another owner's rows, or those of an own commit whose answer was lost.
      drainSoon()
      if (result.isSwapped) logger.info(topicPartition, SWAPPED)
      else logger.warn(topicPartition, OVERTAKEN)
    }
  }

  const report = ({ deadLetters, duplicates }: FoldResult & { outcome: 'folded' }): void => {
    metrics.duplicates.inc(duplicates)
    if (deadLetters === 0) return
    metrics.deadLetters.inc(deadLetters)
    logger.error({ ...topicPartition, deadLetters }, DEAD_LETTERS)
  }

  /** Folds the next part of a batch, as soon as Postgres accepts it. Waits where no attempt helps. */
  const foldPart = async (batch: FetchedBatch): Promise<void> => {
    const attempt = () => commit(() => fold.fold(batch))
    try {
      await retryWhilePostgresIsUnavailable(attempt, { signal, logger, topicPartition, onRetry })
      progress.noticeFolded(batch)
    } catch (error) {
      if (error instanceof RunnerStoppedError) throw error
      halt(error)
      await untilWoken()
    }
  }

  const foldWhole = async (batch: FetchedBatch): Promise<void> => {
    const stopTimer = metrics.foldSeconds.startTimer()
    // At least once, also for a batch that is folded: the record before the checkpoint shows whether this is the same log.
    do await foldPart(batch)
    while (nextOffset() < batch.nextOffset)
    stopTimer()
    await runPendingTick()
  }

  const halt = (error: unknown): void => {
    if (!progress.noticeHalted(error)) return
    const { offset, recordId } = progress.halted() ?? {}
    logger.error({ ...topicPartition, offset: offset?.toString(), recordId, err: error }, HALTED)
  }

  const untilWoken = async (): Promise<void> => {
    const woken = new AbortController()
    wake = () => woken.abort()
    const ended = AbortSignal.any([signal, woken.signal])
    await sleep(HALTED_RETRY_MS, undefined, { signal: ended, ref: false }).catch(() => {})
  }

  const setAside: OwnedPartition['setAside'] = (offset, by) => {
    const halted = progress.halted()
    if (halted?.offset !== offset || halted.recordId === undefined) return
    fold.setAside(offset, causeOfSetAside(by, halted.message))
    wake?.()
  }

  const runPendingTick = async (): Promise<void> => {
    if (!pendingTick || nextOffset() < pendingTick.end || progress.halted()) return
    const { instant } = pendingTick
    pendingTick = undefined
    try {
      await commit(() => fold.tick(instant))
      drainSoon()
      progress.noticeTicked()
    } catch (error) {
      if (signal.aborted) return
      noTickBeforeMs = now().getTime() + FAILED_TICK_PAUSE_MS
      progress.noticeTickFailed(error)
      logger.warn({ ...topicPartition, err: error }, 'A tick failed; trying again')
    }
  }

  return {
    topic,
    partition,
    handle: (batch) => {
      progress.noticeEnd(batch.highWatermark)
      return next(() => foldWhole(batch))
    },
    halt,
    setAside,
    noticeEnd: progress.noticeEnd,
    tick: (instant, end) =>
      next(async () => {
        if (now().getTime() < noTickBeforeMs) return
        // A tick that waits for the checkpoint keeps its instant: under constant load a later one would never come due.
        pendingTick ??= { instant, end }
        await runPendingTick()
      }),
    noticeTicks: (failure) => (failure === undefined ? progress.noticeTicked() : progress.noticeTickFailed(failure)),
    progress: progress.read,
  }
}

import type { Logger } from '@nextvisit/log'
import type { Folded, Stale } from '../fold/partition-batch.ts'
import type { PartitionFold } from './partition-fold.ts'
import type { ProgressTracker } from './progress-tracker.ts'

interface PartitionTickerOptions {
  readonly fold: PartitionFold
  readonly progress: ProgressTracker
  /** Called after each commit, and after each that the fence stopped. */
  readonly onCommit: (outcome: Folded | Stale) => void
  /** Called when unreported rows may be in the outbox. */
  readonly drainSoon: () => void
  readonly logger: Logger
  /** Aborted when this process loses the partition. */
  readonly signal: AbortSignal
}

/** A failing tick may last until the statement timeout. The pause leaves time for batches. */
const FAILED_TICK_PAUSE_MS = 5_000

/** Ticks one partition: one tick at a time, each after the checkpoint has passed the end that the log had at its instant. */
export function createPartitionTicker(options: PartitionTickerOptions) {
  const { fold, progress, onCommit, drainSoon, logger, signal } = options
  let requested: { readonly instant: Date; readonly logEnd: bigint } | undefined
  let isRunning = false
  let notBeforeMs = 0

  const isPaused = (): boolean => performance.now() < notBeforeMs

  /** A stale commit has read the checkpoint again, so the next attempt writes under the present one. */
  async function commitUntilCurrent(attempt: () => Promise<Folded | Stale>): Promise<void> {
    let outcome: Folded | Stale
    do onCommit((outcome = await attempt()))
    while (outcome.outcome === 'stale')
  }

  async function retryAndTick(instant: Date): Promise<void> {
    try {
      await commitUntilCurrent(fold.retry)
      await commitUntilCurrent(() => fold.tick(instant))
      drainSoon()
      progress.noticeTicked()
    } catch (error) {
      if (signal.aborted) return
      notBeforeMs = performance.now() + FAILED_TICK_PAUSE_MS
      progress.noticeTickFailed(error)
      const { topic, partition } = fold.key
      logger.warn({ topic, partition, err: error }, 'A tick failed; trying again')
    }
  }

  /**
   * Requests a tick. A waiting tick keeps its instant: under constant load a later instant would never be reached.
   * Ignores requests shortly after a failure.
   */
  function request(instant: Date, logEnd: bigint): void {
    if (!isPaused()) requested ??= { instant, logEnd }
  }

  /**
   * Retries dead letters and ticks if the requested tick is due. Call it only while no commit of the partition can begin.
   * Never rejects.
   */
  async function tickIfDue(): Promise<void> {
    if (!requested || isRunning || isPaused() || signal.aborted) return
    if (fold.checkpoint().nextOffset < requested.logEnd || progress.halted()) return
    const { instant } = requested
    requested = undefined
    isRunning = true
    try {
      await retryAndTick(instant)
    } finally {
      isRunning = false
    }
  }

  return { request, tickIfDue, isRunning: () => isRunning }
}

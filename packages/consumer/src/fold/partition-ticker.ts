import type { PartitionFold } from './partition-fold.ts'
import type { Folded, Stale } from './outcome.ts'
import type { ProgressTracker } from './progress-tracker.ts'
import type { Logger } from '@nextvisit/log'

interface PartitionTickerOptions {
  readonly fold: PartitionFold
  readonly progress: ProgressTracker
  /** Called after each commit, and after each that the fence stopped. */
  readonly onCommit: (outcome: Folded | Stale) => void
  /** Called when unreported rows may be in the outbox. */
  readonly drainSoon: () => void
  readonly now: () => Date
  readonly logger: Logger
  /** Aborted when this process loses the partition. */
  readonly signal: AbortSignal
}

/** A failing tick may last until the statement timeout. The pause leaves time for batches. */
const FAILED_TICK_PAUSE_MS = 5_000

/** Ticks one partition: one tick at a time, each after the checkpoint has passed the end that the log had at its instant. */
export function createPartitionTicker(options: PartitionTickerOptions) {
  const { fold, progress, onCommit, drainSoon, now, logger, signal } = options
  let requested: { readonly instant: Date; readonly logEnd: bigint } | undefined
  let isRunning = false
  let notBeforeMs = 0

  const isPaused = (): boolean => now().getTime() < notBeforeMs

  async function commitTick(instant: Date): Promise<void> {
    try {
      let outcome: Folded | Stale
      do onCommit((outcome = await fold.tick(instant)))
      while (outcome.outcome === 'stale')
      drainSoon()
      progress.noticeTicked()
    } catch (error) {
      if (signal.aborted) return
      notBeforeMs = now().getTime() + FAILED_TICK_PAUSE_MS
      progress.noticeTickFailed(error)
      const { topic, partition } = fold.key
      logger.warn({ topic, partition, err: error }, 'A tick failed; trying again')
    }
  }

  /**
   * Requests a tick. One that waits keeps its instant: under constant load a later one would never come due. Ignores requests
   * shortly after a failure.
   */
  function request(instant: Date, logEnd: bigint): void {
    if (!isPaused()) requested ??= { instant, logEnd }
  }

  /** Runs the requested tick, if it is due. Call it only while no commit of the partition can begin. Never rejects. */
  async function run(): Promise<void> {
    if (!requested || isRunning || isPaused() || signal.aborted) return
    if (fold.checkpoint().nextOffset < requested.logEnd || progress.halted()) return
    const { instant } = requested
    requested = undefined
    isRunning = true
    await commitTick(instant)
    isRunning = false
  }

  return { request, run, isRunning: () => isRunning }
}

import { causeOfSetAside } from '@nextvisit/contracts'
import { backOffAfter, type FetchedBatch, type Logger, topicPartition } from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from '../core/errors.ts'
import { createPartitionTicker } from './partition-ticker.ts'
import type { ReportedPartition } from '../watch/partition-progress.ts'
import { createProgressTracker } from './progress-tracker.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'
import type { Folded, Outcome, Stale } from './outcome.ts'
import type { PartitionBatch } from './partition-batch.ts'
import type { PartitionFold } from './partition-fold.ts'

/** An assigned partition, which is idle, waits for a commit, or is busy with one. A halted partition waits for a long time. */
export interface Partition extends ReportedPartition {
  /**
   * Gives an idle partition its next batch. Resolves once the batch is committed, by any process, and the work after the
   * commit is done. Waits for an operator at a record for which the fold throws. Rejects with
   * `RunnerStoppedError` once the process loses the partition.
   */
  readonly give: (batch: FetchedBatch) => Promise<void>
  /** The `performance.now()` instant from which a commit may begin; Infinity while it does not wait for one. */
  readonly readyAtMs: () => number
  /**
   * Returns the unfolded part of its batch if a commit may begin now. Ends a batch that is folded already. Halts the partition
   * at a gap, and in another log.
   */
  readonly takeReady: (nowMs: number) => PartitionBatch | undefined
  /** Notes that a commit of the batch begins. */
  readonly begin: () => void
  /**
   * Handles the outcome of the commit: continues, retries after a pause, or halts. Busy until the work after the commit
   * is done.
   */
  readonly conclude: (outcome: Outcome) => void
  /**
   * Ticks as of `instant`, at which the log ended at `logEnd`. Waits until the checkpoint has passed `logEnd` and no commit
   * is running. Never rejects: failures are in the progress, and the next call retries.
   */
  readonly tick: (instant: Date, logEnd: bigint) => Promise<void>
  /** Notes a round of ticks that found no work here, or failed. */
  readonly noticeTicks: (failure?: unknown) => void
  /** Notes the log's present end. */
  readonly noticeEnd: (end: bigint) => void
  /** Notes that the broker refuses to return the partition's records. The reader retries. */
  readonly noticeRefused: (error: Error) => void
  /** Reports that the partition cannot be read, until it is assigned again. */
  readonly halt: (error: Error) => void
}

interface PartitionOptions {
  /** Its checkpoint is open. Commits ticks; the commit loop commits batches. */
  readonly fold: PartitionFold
  /** The log's end when the partition was assigned. */
  readonly logEnd: bigint
  readonly metrics: RunnerMetrics
  readonly now: () => Date
  readonly logger: Logger
  /** Wakes the commit loop. */
  readonly ring: () => void
  /** Called when unreported rows may be in the outbox. */
  readonly drainSoon: () => void
  /** Aborted when this process loses the partition. */
  readonly signal: AbortSignal
}

/** A batch, and the caller who waits for it. */
interface Work extends Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'> {
  readonly batch: FetchedBatch
  readonly stopTimer: () => void
}

/**
 * ```
 * idle ──give──▶ waiting ──begin──▶ busy ──folded──▶ idle, or waiting with the rest of the batch
 *                   ▲                 │
 *                   └─ stale, failed ─┘
 * ```
 */
type State =
  | { readonly is: 'idle' }
  | { readonly is: 'waiting'; readonly work: Work; readonly readyAtMs: number }
  | { readonly is: 'busy'; readonly work: Work }

/** The batch of a halted partition is retried: the cause, for example a missing privilege, may be fixed. */
const HALTED_RETRY_MS = 60_000

export function createPartition(options: PartitionOptions): Partition {
  const { fold, logEnd, metrics, now, logger, ring, drainSoon, signal } = options
  const { topic, partition } = fold.key
  const nextOffset = () => fold.checkpoint().nextOffset
  const progress = createProgressTracker({ topic, partition, logEnd, nextOffset, now, metrics, logger })
  const ticker = createPartitionTicker({ fold, progress, onCommit: noticeCommit, drainSoon, now, logger, signal })
  let state: State = { is: 'idle' }
  let failures = 0

  function wait(work: Work, readyAtMs = performance.now()): void {
    if (signal.aborted) return abandon(work)
    state = { is: 'waiting', work, readyAtMs }
    ring()
  }

  function abandon(work: Work): void {
    state = { is: 'idle' }
    work.reject(new RunnerStoppedError())
  }

  /** Continues with the next part of the batch, or completes it. */
  async function advance(work: Work): Promise<void> {
    failures = 0
    progress.noticeFolded(work.batch)
    if (nextOffset() < work.batch.nextOffset) return wait(work)
    work.stopTimer()
    await runTick()
    state = { is: 'idle' }
    work.resolve()
  }

  function retryLater(work: Work, error: unknown): void {
    if (signal.aborted) return abandon(work)
    if (!mayPass(error)) {
      progress.noticeHalted(error)
      return wait(work, performance.now() + HALTED_RETRY_MS)
    }
    failures += 1
    const backOffMs = backOffAfter(failures)
    progress.noticeFailed(error, 'Cannot be folded now; trying again', backOffMs)
    wait(work, performance.now() + backOffMs)
  }

  function noticeCommit(outcome: Folded | Stale): void {
    progress.noticeCommit(outcome)
    // The outbox may hold rows of another owner, or of an own commit whose answer was lost.
    if (outcome.outcome === 'stale') drainSoon()
  }

  async function runTick(): Promise<void> {
    await ticker.run()
    ring() // a batch may have come
  }

  signal.addEventListener('abort', () => {
    // The commit of a busy partition ends first.
    if (state.is === 'waiting') abandon(state.work)
  })

  return {
    topic,
    partition,
    give: async (batch) => {
      if (state.is !== 'idle') throw new Error(`${topicPartition(topic, partition)} was given a batch while it had one`)
      progress.noticeEnd(batch.highWatermark)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      wait({ batch, stopTimer: metrics.foldSeconds.startTimer(), resolve, reject })
      return promise
    },
    readyAtMs: () => (state.is === 'waiting' && !ticker.isRunning() ? state.readyAtMs : Infinity),
    takeReady: (nowMs) => {
      if (state.is !== 'waiting' || ticker.isRunning() || state.readyAtMs > nowMs) return undefined
      const { work } = state
      try {
        const rest = fold.unfoldedPart(work.batch)
        if (rest) return rest
        state = { is: 'busy', work }
        void advance(work)
      } catch (error) {
        retryLater(work, error)
      }
      return undefined
    },
    begin: () => {
      if (state.is === 'waiting') state = { is: 'busy', work: state.work }
    },
    conclude: (outcome) => {
      if (state.is !== 'busy') return
      const { work } = state
      if (outcome.outcome === 'failed') return retryLater(work, outcome.error)
      noticeCommit(outcome)
      // Not awaited by the next commit: replies may take as long as Redis does.
      void Promise.resolve(outcome.after).then(() => (outcome.outcome === 'stale' ? wait(work) : advance(work)))
    },
    tick: async (instant, end) => {
      ticker.request(instant, end)
      if (state.is === 'idle') await runTick()
    },
    noticeTicks: (failure) => (failure === undefined ? progress.noticeTicked() : progress.noticeTickFailed(failure)),
    noticeEnd: progress.noticeEnd,
    noticeRefused: (error) => progress.noticeFailed(error, 'Cannot be read now; trying again', 0),
    halt: progress.noticeHalted,
    setAside: (offset, by) => {
      const halted = progress.halted()
      if (halted?.offset !== offset || halted.recordId === undefined) return
      fold.setAside(offset, causeOfSetAside(by, halted.message))
      if (state.is === 'waiting') wait(state.work)
    },
    progress: progress.read,
  }
}

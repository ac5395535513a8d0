import { causeOfSetAside } from '@nextvisit/contracts'
import { backOffAfter, type ContinueAt, type FetchedBatch, type Logger, topicPartition } from '@nextvisit/log'
import { sampledContexts } from '@nextvisit/service-kit'
import { isUndecodable, mayPass } from '../core/errors.ts'
import { traceparentOf } from '../fold/commit-tracing.ts'
import { type Folded, NOTHING_FOLDED, type Outcome, type PartitionBatch, type Stale } from '../fold/partition-batch.ts'
import { createBatchSlot } from './batch-slot.ts'
import type { PartitionFold } from './partition-fold.ts'
import type { ReportedPartition } from './partition-progress.ts'
import { createPartitionTicker } from './partition-ticker.ts'
import { createProgressTracker } from './progress-tracker.ts'
import type { RunnerMetrics } from './runner-metrics.ts'

/** An assigned partition, which is idle, waits for a commit, or is busy with one. A halted partition waits for a long time. */
export interface Partition extends ReportedPartition {
  /**
   * Gives an idle partition its next batch. Resolves once the batch is committed, by any process, and the work after the
   * commit is done. Waits for an operator at a record for which the fold throws. At an undecodable batch, waits for a minute
   * and resolves to its offset: the reader reads it again. Rejects with `RunnerStoppedError` once the process loses the
   * partition.
   */
  readonly give: (batch: FetchedBatch) => Promise<ContinueAt | undefined>
  /** The `performance.now()` instant from which a commit may begin; Infinity while it does not wait for one. */
  readonly readyAtMs: () => number
  /**
   * Returns the unfolded part of its batch, or the outcome without a commit: everything is folded already, or the batch does
   * not fit the checkpoint. Changes nothing.
   */
  readonly prepareBatch: () => PartitionBatch | Outcome
  /** Notes that a commit of the batch begins. */
  readonly begin: () => void
  /** Handles the outcome of the commit: continues, retries after a pause, or halts. Busy until the work after the commit is done. */
  readonly conclude: (outcome: Outcome) => void
  /**
   * Requests a tick as of `instant`, at which the log ended at `logEnd`. It waits until the checkpoint has passed `logEnd` and
   * no commit is running. Resolves once the tick has ended, or at once if it waits. Never rejects: failures are in the
   * progress, and the next request retries.
   */
  readonly requestTick: (instant: Date, logEnd: bigint) => Promise<void>
  /** Notes a round of ticks that found no work here, or failed. */
  readonly noticeTickRound: (failure?: unknown) => void
  /** Notes the log's present end. */
  readonly noticeEnd: (end: bigint) => void
  /** Notes that the broker refuses to return the partition's records. The reader retries. */
  readonly noticeRefused: (error: Error) => void
  /** Reports that the partition cannot be read, until its checkpoint moves or it is assigned again. */
  readonly halt: (error: Error) => void
}

export interface PartitionOptions {
  /** Its checkpoint is open. Commits ticks; the commit loop commits batches. */
  readonly fold: PartitionFold
  /** The log's end when the partition was assigned. */
  readonly logEnd: bigint
  readonly metrics: RunnerMetrics
  readonly now: () => Date
  readonly logger: Logger
  /** Wakes the commit loop. */
  readonly wake: () => void
  /** Called when unreported rows may be in the outbox. */
  readonly drainSoon: () => void
  /** Aborted when this process loses the partition. */
  readonly signal: AbortSignal
}

/**
 * The batch of a halted partition is retried: the cause, for example a missing privilege, may be fixed. An undecodable batch
 * is read again: another replica may have become the leader.
 */
const HALTED_RETRY_MS = 60_000

export function createPartition(options: PartitionOptions): Partition {
  const { fold, logEnd, metrics, now, logger, wake, drainSoon, signal } = options
  const { topic, partition } = fold.key
  const nextOffset = () => fold.checkpoint().nextOffset
  const progress = createProgressTracker({ topic, partition, logEnd, nextOffset, now, metrics, logger })
  const ticker = createPartitionTicker({ fold, progress, onCommit: noticeCommit, drainSoon, logger, signal })
  const slot = createBatchSlot(wake, signal)
  let receivedAt: number | undefined
  let failures = 0
  /** True if the batch waits to be read again, not to be folded. */
  let mustReadAgain = false

  /** Continues with the next part of the batch, or completes it. */
  async function advance(batch: FetchedBatch): Promise<void> {
    failures = 0
    progress.noticeFolded(batch)
    if (nextOffset() < batch.nextOffset) return slot.repeat()
    observeFold(batch)
    await tickIfDue()
    slot.complete()
  }

  function observeFold({ records }: FetchedBatch): void {
    if (receivedAt === undefined) return
    const [context] = metrics.isTraced ? sampledContexts(records.map(traceparentOf)) : []
    metrics.foldSeconds.observe({}, (performance.now() - receivedAt) / 1_000, context)
  }

  function retryLater(error: unknown): void {
    if (signal.aborted) return slot.repeat()
    if (!mayPass(error)) {
      progress.noticeHalted(error)
      mustReadAgain = isUndecodable(error)
      return slot.repeat(performance.now() + HALTED_RETRY_MS)
    }
    failures += 1
    const backOffMs = backOffAfter(failures)
    progress.noticeFailed(error, 'Cannot be folded now; trying again', backOffMs)
    slot.repeat(performance.now() + backOffMs)
  }

  function noticeCommit(outcome: Folded | Stale): void {
    progress.noticeCommit(outcome)
    // The outbox may hold rows of another owner, or of an own commit whose answer was lost.
    if (outcome.outcome === 'stale') drainSoon()
  }

  async function tickIfDue(): Promise<void> {
    await ticker.tickIfDue()
    wake() // a batch may have come
  }

  return {
    topic,
    partition,
    give: async (batch) => {
      if (slot.state() !== 'idle')
        throw new Error(`${topicPartition(topic, partition)} was given a batch while it had one`)
      progress.noticeEnd(batch.highWatermark)
      receivedAt = performance.now()
      return slot.give(batch)
    },
    readyAtMs: () => (ticker.isRunning() ? Infinity : slot.readyAtMs()),
    prepareBatch: () => {
      if (mustReadAgain) return NOTHING_FOLDED
      const batch = slot.batch()
      try {
        return (batch && fold.unfoldedPart(batch)) ?? NOTHING_FOLDED
      } catch (error) {
        return { outcome: 'failed', error }
      }
    },
    begin: slot.begin,
    conclude: (outcome) => {
      const batch = slot.batch()
      if (!batch) return
      if (mustReadAgain) {
        mustReadAgain = false
        return slot.complete({ offset: nextOffset() })
      }
      if (outcome.outcome === 'failed') return retryLater(outcome.error)
      noticeCommit(outcome)
      // Not awaited by the next commit: replies may take as long as Redis does.
      void Promise.resolve(outcome.after).then(() => (outcome.outcome === 'stale' ? slot.repeat() : advance(batch)))
    },
    requestTick: async (instant, end) => {
      ticker.request(instant, end)
      if (slot.state() === 'idle') await tickIfDue()
    },
    noticeTickRound: (failure) =>
      failure === undefined ? progress.noticeTicked() : progress.noticeTickFailed(failure),
    noticeEnd: progress.noticeEnd,
    noticeRefused: progress.noticeRefused,
    halt: progress.noticeHalted,
    setAside: (offset, by) => {
      const halted = progress.halted()
      if (halted?.offset !== offset || halted.recordId === undefined) return
      const isBatch = halted.code === 'BATCH_UNDECODABLE'
      fold.makeDeadLetter(offset, causeOfSetAside(by, halted.message), { isBatch })
      mustReadAgain = false
      if (slot.state() === 'waiting') slot.repeat()
    },
    progress: progress.read,
  }
}

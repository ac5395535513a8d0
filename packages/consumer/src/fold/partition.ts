import { causeOfSetAside } from '@nextvisit/contracts'
import { type FetchedBatch, type FetchedRecord, topicPartition } from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from '../errors.ts'
import { runTick } from './run-tick.ts'
import { createProgressTracker, type ReportedPartition } from '../watch/partition-progress.ts'
import type { RunnerMetrics } from '../watch/runner-metrics.ts'
import type { Checkpoint, PartitionCheckpoint } from './checkpoint.ts'
import type { Core } from './core.ts'
import type { Folded, Outcome, Stale } from './outcome.ts'
import { type PartitionBatch, unfoldedPartOf } from './partition-batch.ts'
import type { AnyFact } from '../projection.ts'

/** An assigned partition, which is idle, ready, busy or paused. A halted partition is paused for a long time. */
export interface Partition extends ReportedPartition {
  readonly checkpoint: () => Checkpoint
  /**
   * Gives an idle partition its next batch. Resolves once the batch is committed, by any process, and the work after the
   * commit is done. Waits for an operator at a record for which the fold throws. Rejects with
   * `RunnerStoppedError` once the process loses the partition.
   */
  readonly give: (batch: FetchedBatch) => Promise<void>
  /**
   * Returns the unfolded part of its batch if a commit may begin now. Ends a batch that is folded already. Halts the partition
   * at a gap, and in another log.
   */
  readonly takeReady: (nowMs: number) => PartitionBatch | undefined
  /** The `performance.now()` instant since which a commit might begin; Infinity while it has no batch. */
  readonly readySinceMs: () => number
  /** Notes that a commit of the batch begins. */
  readonly begin: () => void
  /** Handles the outcome of the commit: continues, retries after a pause, or halts. Busy until the work after the commit is done. */
  readonly conclude: (outcome: Outcome) => void
  /** The `performance.now()` instant at which a pause ends; Infinity if it is not paused. */
  readonly retryAtMs: () => number
  /**
   * Ticks as of `instant`, at which the log ended at `logEnd`. Waits until the checkpoint has passed `logEnd` and no commit
   * is running. Never rejects: failures are in the progress, and the next call retries.
   */
  readonly tick: (instant: Date, logEnd: bigint) => Promise<void>
  /** Notes a round of ticks that found no work here, or failed. */
  readonly noticeTicks: (failure?: unknown) => void
  /** Notes the log's present end. */
  readonly noticeEnd: (end: bigint) => void
  /** Reports that the partition cannot be read, until it is assigned again. */
  readonly halt: (error: Error) => void
}

interface PartitionOptions<Fact extends AnyFact, Draft> {
  /** The core of ticks. */
  readonly core: Core<Fact, Draft>
  /** Opened. */
  readonly checkpoint: PartitionCheckpoint
  /** The log's end when the partition was assigned. */
  readonly logEnd: bigint
  readonly metrics: RunnerMetrics
  readonly now: () => Date
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

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'ready'; readonly work: Work; readonly sinceMs: number }
  | { readonly is: 'busy'; readonly work: Work }
  | { readonly is: 'paused'; readonly work: Work; readonly retryAtMs: number }

const IDLE: State = { is: 'idle' }

const SWAPPED = 'The read models were swapped by a replay; continuing from their checkpoint'
const OVERTAKEN = 'Another owner moved the checkpoint; continuing from there'
const DEAD_LETTERS = 'Records are dead letters now; see nextvisit dead-letters list'
const HALTED = 'This partition is halted, the others continue; see docs/runbooks/halted.md'

const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 2_000
/** The batch of a halted partition is retried: the cause, for example a missing privilege, may be fixed. */
const HALTED_RETRY_MS = 60_000
/** A failing tick may last until the statement timeout. The pause leaves time for batches. */
const FAILED_TICK_PAUSE_MS = 5_000

export function createPartition<Fact extends AnyFact, Draft>(options: PartitionOptions<Fact, Draft>): Partition {
  const { core, checkpoint, logEnd, metrics, now, ring, drainSoon, signal } = options
  const { logger } = core
  const { topic, partition } = checkpoint.key
  const place = { topic, partition }
  const nextOffset = () => checkpoint.current().nextOffset
  const progress = createProgressTracker({ ...place, logEnd, nextOffset, now })
  const setAside = new Map<bigint, string>()
  const deadBecause = ({ offset }: FetchedRecord): string | undefined => setAside.get(offset)
  let state: State = IDLE
  let backOffMs = FIRST_BACK_OFF_MS
  let pendingTick: { readonly instant: Date; readonly logEnd: bigint } | undefined
  let ticking: Promise<void> | undefined
  let noTickBeforeMs = 0

  function makeReady(work: Work): void {
    if (signal.aborted) return abandon(work)
    state = { is: 'ready', work, sinceMs: performance.now() }
    ring()
  }

  /** Continues with the next part of the batch, or completes it. */
  async function advance(work: Work): Promise<void> {
    backOffMs = FIRST_BACK_OFF_MS
    progress.noticeFolded(work.batch)
    if (nextOffset() < work.batch.nextOffset) return makeReady(work)
    work.stopTimer()
    await runPendingTick()
    state = IDLE
    work.resolve()
  }

  function abandon(work: Work): void {
    state = IDLE
    work.reject(new RunnerStoppedError())
  }

  function pause(work: Work, error: unknown): void {
    if (signal.aborted) return abandon(work)
    if (!mayPass(error)) {
      noticeHalted(error)
      state = { is: 'paused', work, retryAtMs: performance.now() + HALTED_RETRY_MS }
      return
    }
    metrics.retries.inc()
    progress.noticeRefused(error)
    logger.warn({ ...place, err: error, backOffMs }, 'Cannot be folded now; trying again')
    state = { is: 'paused', work, retryAtMs: performance.now() + backOffMs * (0.5 + Math.random()) }
    backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS)
  }

  function noticeHalted(error: unknown): void {
    if (!progress.noticeHalted(error)) return
    const { offset, recordId } = progress.halted() ?? {}
    logger.error({ ...place, offset: offset?.toString(), recordId, err: error }, HALTED)
  }

  function noticeStale({ isSwapped }: Stale): void {
    metrics.staleCommits.inc()
    // The outbox may hold rows of another owner, or of an own commit whose answer was lost.
    drainSoon()
    if (isSwapped) logger.info(place, SWAPPED)
    else logger.warn(place, OVERTAKEN)
  }

  function noticeFolded({ deadLetters, duplicates }: Folded): void {
    metrics.duplicates.inc(duplicates)
    if (deadLetters === 0) return
    metrics.deadLetters.inc(deadLetters)
    logger.error({ ...place, deadLetters }, DEAD_LETTERS)
  }

  /** Called only while no commit of the partition can begin: when it is idle, or at the end of its batch. */
  async function runPendingTick(): Promise<void> {
    if (ticking || !pendingTick || signal.aborted || nextOffset() < pendingTick.logEnd || progress.halted()) return
    // One that came due while a tick failed waits for the pause, too.
    if (now().getTime() < noTickBeforeMs) return
    const { instant } = pendingTick
    pendingTick = undefined
    ticking = commitTick(instant)
    await ticking
    ticking = undefined
    ring() // a batch may have come
  }

  async function commitTick(instant: Date): Promise<void> {
    try {
      let outcome = await runTick(core, checkpoint, instant)
      while (outcome.outcome === 'stale') {
        noticeStale(outcome)
        outcome = await runTick(core, checkpoint, instant)
      }
      noticeFolded(outcome)
      drainSoon()
      progress.noticeTicked()
    } catch (error) {
      if (signal.aborted) return
      noTickBeforeMs = now().getTime() + FAILED_TICK_PAUSE_MS
      progress.noticeTickFailed(error)
      logger.warn({ ...place, err: error }, 'A tick failed; trying again')
    }
  }

  signal.addEventListener('abort', () => {
    // The commit of a busy partition ends first.
    if (state.is === 'ready' || state.is === 'paused') abandon(state.work)
  })

  return {
    topic,
    partition,
    checkpoint: checkpoint.current,
    give: async (batch) => {
      if (state.is !== 'idle') throw new Error(`${topicPartition(topic, partition)} was given a batch while it had one`)
      progress.noticeEnd(batch.highWatermark)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      makeReady({ batch, stopTimer: metrics.foldSeconds.startTimer(), resolve, reject })
      return promise
    },
    takeReady: (nowMs) => {
      if (ticking || !(state.is === 'ready' || (state.is === 'paused' && state.retryAtMs <= nowMs))) return undefined
      const { work } = state
      try {
        const rest = unfoldedPartOf(checkpoint, work.batch, setAside.size > 0 ? deadBecause : undefined)
        if (rest) return rest
        state = { is: 'busy', work }
        void advance(work)
      } catch (error) {
        pause(work, error)
      }
      return undefined
    },
    readySinceMs: () => (state.is === 'ready' ? state.sinceMs : state.is === 'paused' ? state.retryAtMs : Infinity),
    begin: () => {
      if (state.is === 'ready' || state.is === 'paused') state = { is: 'busy', work: state.work }
    },
    conclude: (outcome) => {
      if (state.is !== 'busy') return
      const { work } = state
      if (outcome.outcome === 'failed') return pause(work, outcome.error)
      if (outcome.outcome === 'stale') noticeStale(outcome)
      else noticeFolded(outcome)
      // Not awaited by the next commit: replies may take as long as Redis does.
      void Promise.resolve(outcome.after).then(() => (outcome.outcome === 'stale' ? makeReady(work) : advance(work)))
    },
    retryAtMs: () => (state.is === 'paused' ? state.retryAtMs : Infinity),
    tick: async (instant, end) => {
      if (now().getTime() < noTickBeforeMs) return
      // A tick that waits for the checkpoint keeps its instant: under constant load a later one would never come due.
      pendingTick ??= { instant, logEnd: end }
      if (state.is === 'idle') await runPendingTick()
    },
    noticeTicks: (failure) => (failure === undefined ? progress.noticeTicked() : progress.noticeTickFailed(failure)),
    noticeEnd: progress.noticeEnd,
    halt: noticeHalted,
    setAside: (offset, by) => {
      const halted = progress.halted()
      if (halted?.offset !== offset || halted.recordId === undefined) return
      setAside.set(offset, causeOfSetAside(by, halted.message))
      if (state.is === 'paused') makeReady(state.work)
    },
    progress: progress.read,
  }
}

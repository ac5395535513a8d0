import { bisect } from './bisect.ts'
import { commitBatches } from './commit-batches.ts'
import type { Core } from './core.ts'
import type { Outcome } from './outcome.ts'
import type { Partition } from './partition.ts'
import type { PartitionBatch } from './partition-batch.ts'
import type { AnyFact } from '../projection.ts'

/**
 * Commits the batches of all partitions of a process, one commit at a time: ready batches are loaded, folded and committed
 * together, and batches that arrive meanwhile go into the next commit. The load of Postgres follows commits, not partitions.
 */
interface CommitLoop {
  /** Runs until aborted, and then ends the commit in flight. Rejects only for a bug. */
  readonly run: (signal: AbortSignal) => Promise<void>
  /** Wakes the loop: a partition may be ready. */
  readonly ring: () => void
}

/** The part of a {@link Partition} that the loop uses. */
export type CommitTurn = Pick<Partition, 'takeReady' | 'readySinceMs' | 'begin' | 'conclude' | 'retryAtMs'>

/** Bound one commit: these take Postgres about a tenth of its timeouts on a slow machine. */
const MAX_RECORDS_A_COMMIT = 2_000
const MAX_RECORD_BYTES_A_COMMIT = 4 * 1024 * 1024

/** Ends a batch that an attempt said nothing about, so that its partition is not busy forever. */
const WITHOUT_OUTCOME: Outcome = {
  outcome: 'failed',
  error: new Error('A commit ended without an outcome of this batch'),
}

/** `owned`: the partitions that this process owns now. */
export function createCommitLoop<Fact extends AnyFact, Draft>(
  core: Core<Fact, Draft>,
  owned: () => readonly CommitTurn[],
): CommitLoop {
  const bell = createBell()

  async function run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', bell.ring)
    while (!signal.aborted) {
      // One fetch gives several partitions their batches.
      await new Promise(setImmediate)
      const taken = takeBatches(owned(), performance.now())
      if (taken.size === 0) {
        await bell.rung(Math.min(...owned().map((partition) => partition.retryAtMs())))
        continue
      }
      const outcomes = await bisect([...taken.keys()], (batches) => commitBatches(core, batches))
      for (const [batch, turn] of taken) turn.conclude(outcomes.get(batch) ?? WITHOUT_OUTCOME)
    }
  }

  return { run, ring: bell.ring }
}

/** Begins the batches of the next commit, oldest first; at least one if any is ready. */
function takeBatches(owned: readonly CommitTurn[], nowMs: number): ReadonlyMap<PartitionBatch, CommitTurn> {
  const taken = new Map<PartitionBatch, CommitTurn>()
  let records = 0
  let bytes = 0
  for (const partition of owned.toSorted((one, other) => one.readySinceMs() - other.readySinceMs())) {
    const batch = partition.takeReady(nowMs)
    if (!batch) continue
    records += batch.records.length
    for (const { value } of batch.records) bytes += value?.length ?? 0
    if (taken.size > 0 && (records > MAX_RECORDS_A_COMMIT || bytes > MAX_RECORD_BYTES_A_COMMIT)) break
    partition.begin()
    taken.set(batch, partition)
  }
  return taken
}

/** A bell for one waiter. A ring before the wait ends it at once. */
function createBell() {
  let isRung = false
  let wake: (() => void) | undefined

  return {
    ring: (): void => {
      isRung = true
      wake?.()
    },
    /** Resolves at a ring, or at `untilAtMs`, a `performance.now()` instant. */
    rung: async (untilAtMs: number): Promise<void> => {
      if (!isRung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        const timer = untilAtMs < Infinity ? setTimeout(resolve, Math.max(0, untilAtMs - performance.now())) : undefined
        await promise
        clearTimeout(timer)
      }
      isRung = false
    },
  }
}

import type { AnyFact } from '../core/projection.ts'
import { createPause, type Pause } from './pause.ts'
import { foldBatches } from './fold-batches.ts'
import type { FoldParts } from './fold-parts.ts'
import { outcomeOf } from './outcome.ts'
import type { Partition } from './partition.ts'
import type { PartitionBatch } from './partition-batch.ts'

/** The part of a {@link Partition} that the loop uses. */
export type CommitTurn = Pick<Partition, 'takeReady' | 'readyAtMs' | 'begin' | 'conclude'>

/** Bound one commit: these take Postgres about a tenth of its timeouts on a slow machine. */
const MAX_RECORDS_A_COMMIT = 2_000
const MAX_RECORD_BYTES_A_COMMIT = 4 * 1024 * 1024

/**
 * Commits the batches of all partitions of a process, one commit at a time: ready batches are loaded, folded and committed
 * together, and batches that arrive meanwhile go into the next commit. The load of Postgres follows commits, not partitions.
 *
 * - `owned` returns the partitions that this process owns now.
 * - `run` runs until aborted, and then ends the commit in flight. It rejects only for a bug.
 * - `ring` wakes the loop: a partition may be ready.
 */
export function createCommitLoop<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  owned: () => readonly CommitTurn[],
) {
  let isRung = false
  let pause: Pause | undefined

  function ring(): void {
    isRung = true
    pause?.end()
  }

  async function run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', ring)
    while (!signal.aborted) {
      isRung = false
      // One fetch gives several partitions their batches.
      await new Promise(setImmediate)
      const taken = takeBatches(owned(), performance.now())
      if (taken.size > 0) await commitTaken(taken)
      else await waitUntil(Math.min(...owned().map((partition) => partition.readyAtMs())))
    }
  }

  async function commitTaken(taken: ReadonlyMap<PartitionBatch, CommitTurn>): Promise<void> {
    const outcomes = await foldBatches(parts, [...taken.keys()])
    for (const [batch, turn] of taken) turn.conclude(outcomeOf(outcomes, batch))
  }

  /** Waits until this instant, or until a ring; not at all after a ring that the turns taken may have missed. */
  async function waitUntil(atMs: number): Promise<void> {
    if (isRung) return
    pause = createPause(atMs - performance.now())
    await pause.over
  }

  return { run, ring }
}

/** Begins the batches of the next commit, oldest first; at least one if any is ready. */
function takeBatches(owned: readonly CommitTurn[], nowMs: number): ReadonlyMap<PartitionBatch, CommitTurn> {
  const taken = new Map<PartitionBatch, CommitTurn>()
  let records = 0
  let bytes = 0
  for (const partition of owned.toSorted((one, other) => one.readyAtMs() - other.readyAtMs())) {
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

import { bytesOfRecord, createSleeper } from '@nextvisit/log'
import type { AnyFact } from '../core/projection.ts'
import { foldBatches } from '../fold/fold-batches.ts'
import type { FoldParts } from '../fold/fold-parts.ts'
import { outcomeOf, type PartitionBatch } from '../fold/partition-batch.ts'
import type { Partition } from './partition.ts'

/** Bound one commit: these take Postgres about a tenth of its timeouts on a slow machine. */
const MAX_RECORDS_A_COMMIT = 2_000
const MAX_RECORD_BYTES_A_COMMIT = 4 * 1024 * 1024

/**
 * Commits the batches of all partitions of a process, one commit at a time: ready batches are loaded, folded and committed
 * together, and batches that arrive meanwhile go into the next commit. The load of Postgres follows commits, not partitions.
 *
 * - `owned` returns the partitions that this process owns now.
 * - `run` runs until `signal` is aborted, and then ends the commit in flight. It rejects only for a bug.
 * - `wake` wakes the loop: a partition may be ready.
 */
export function createCommitLoop<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  owned: () => readonly Partition[],
  signal: AbortSignal,
) {
  const { sleep, wake } = createSleeper(signal)

  async function run(): Promise<void> {
    while (!signal.aborted) {
      // One fetch gives several partitions their batches.
      await new Promise(setImmediate)
      const taken = takeBatches(owned(), performance.now())
      // No partition can become ready between these lines, so no `wake` is missed.
      if (taken.size > 0) await commitTaken(taken)
      else await sleep(Math.min(...owned().map((partition) => partition.readyAtMs())) - performance.now())
    }
  }

  async function commitTaken(taken: ReadonlyMap<PartitionBatch, Partition>): Promise<void> {
    const outcomes = await foldBatches(parts, [...taken.keys()])
    for (const [batch, partition] of taken) partition.conclude(outcomeOf(outcomes, batch))
  }

  return { run, wake }
}

/** Begins the batches of the next commit, oldest first; at least one if any is ready. Concludes those that need no commit. */
function takeBatches(owned: readonly Partition[], nowMs: number): ReadonlyMap<PartitionBatch, Partition> {
  const taken = new Map<PartitionBatch, Partition>()
  let records = 0
  let bytes = 0
  const ready = owned.filter((partition) => partition.readyAtMs() <= nowMs)
  for (const partition of ready.toSorted((one, other) => one.readyAtMs() - other.readyAtMs())) {
    const prepared = partition.prepareBatch()
    if ('outcome' in prepared) {
      partition.begin()
      partition.conclude(prepared)
      continue
    }
    records += prepared.records.length
    for (const record of prepared.records) bytes += bytesOfRecord(record)
    if (taken.size > 0 && (records > MAX_RECORDS_A_COMMIT || bytes > MAX_RECORD_BYTES_A_COMMIT)) break
    partition.begin()
    taken.set(prepared, partition)
  }
  return taken
}

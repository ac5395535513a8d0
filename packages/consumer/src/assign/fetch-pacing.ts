import type { AwaitedRecord } from '@nextvisit/contracts'
import { type FetchedBatch, type FetchedRecord, topicPartition } from '@nextvisit/log'
import { createPause, type Pause } from '../fold/pause.ts'
import type { Partition } from '../fold/partition.ts'

/**
 * Pause between fetches while no caller waits. A commit of twenty records costs only twice as much as a commit of one. A read
 * that is answered by a process that does not own the partition may wait this long.
 */
export const GATHER_MS = 400

/** Decides when the next batches are fetched. */
export interface FetchPacing {
  /** Gives the partition a fetched batch. Resolves and rejects like {@link Partition.give}. */
  readonly handle: (partition: Partition, batch: FetchedBatch) => Promise<void>
  /** Resolves when the next fetch may follow the one with these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  /** Ends the pause between fetches: a caller waits for the gathered records. */
  readonly fetchNow: () => void
  /** Ends the pause if this record of an owned partition is not fetched yet: a caller waits for the reply to it. */
  readonly fetchUpTo: (record: AwaitedRecord) => void
  /** Forgets the last assignment. */
  readonly reassign: () => void
}

/** After this time a wanted record counts as unreadable, and no longer ends the pause. */
const WANTED_FOR_MS = 1_000

/**
 * Pauses after a batch, so that records gather in the log and one fetch returns them all. Does not pause:
 * - while an idle partition lags behind the log's end, or has an awaited record;
 * - after a fetch of awaited records alone. The next record is likely to be awaited, too, and a fetch in flight returns it
 *   before a gateway names it.
 *
 * `isAwaited` returns true if a caller waits for the reply to a record.
 */
export function createFetchPacing(
  gatherMs: number,
  isAwaited: (record: FetchedRecord) => boolean = () => false,
): FetchPacing {
  /** The next offset of each partition. */
  const read = new Map<string, bigint>()
  /** Partitions whose batch is not folded, which includes halted ones. */
  const folding = new Set<string>()
  /** The last offset that is worth a fetch now, and since when. */
  const wanted = new Map<string, { readonly offset: bigint; readonly sinceMs: number }>()
  let gathering: Pause | undefined

  function beginGathering(): void {
    if (gathering) return
    const begun = createPause(gatherMs)
    gathering = begun
    void begun.over.finally(() => {
      if (gathering === begun) gathering = undefined
    })
  }

  function fetchNow(): void {
    gathering?.end()
    gathering = undefined
  }

  const areAwaited = ({ records }: FetchedBatch): boolean => records.length > 0 && records.every(isAwaited)

  function mayGather(): boolean {
    const oldestMs = performance.now() - WANTED_FOR_MS
    return ![...wanted].some(([name, { sinceMs }]) => sinceMs > oldestMs && !folding.has(name))
  }

  function want(name: string, offset: bigint): void {
    const before = wanted.get(name)?.offset ?? -1n
    wanted.set(name, { offset: before > offset ? before : offset, sinceMs: performance.now() })
  }

  function notice(name: string, { nextOffset, highWatermark }: FetchedBatch): void {
    read.set(name, nextOffset)
    if ((wanted.get(name)?.offset ?? -1n) < nextOffset) wanted.delete(name)
    if (nextOffset < highWatermark) want(name, highWatermark - 1n)
  }

  return {
    handle: async (partition, batch) => {
      const name = topicPartition(batch.topic, batch.partition)
      notice(name, batch)
      beginGathering()
      folding.add(name)
      try {
        await partition.give(batch)
      } finally {
        folding.delete(name)
      }
    },
    mayFetch: async (last) => {
      if (last.every(areAwaited)) return
      if (mayGather()) await gathering?.over
      else fetchNow()
    },
    fetchNow,
    fetchUpTo: ({ topic, partition, offset }) => {
      const name = topicPartition(topic, partition)
      if (offset < (read.get(name) ?? 0n)) return
      want(name, offset)
      fetchNow()
    },
    reassign: () => {
      read.clear()
      wanted.clear()
    },
  }
}

import { type ContinueAt, createSleeper, type FetchedBatch, type FetchedRecord } from '@nextvisit/log'
import type { Partition } from '../partition/partition.ts'

/**
 * Pause between fetches while no caller waits. A commit of twenty records costs only twice as much as a commit of one. A read
 * that is answered by a process that does not own the partition may wait this long.
 */
export const FETCH_PAUSE_MS = 400

/** Decides when the next batches are fetched. */
export interface FetchPacing {
  /** Gives the partition a fetched batch. Resolves and rejects like {@link Partition.give}. */
  readonly give: (partition: Pick<Partition, 'give'>, batch: FetchedBatch) => Promise<ContinueAt | undefined>
  /** Resolves when the next fetch may follow the one with these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  /** Ends the pause: a caller waits for records of any partition. */
  readonly fetchNow: () => void
  /** Ends the pause if this record of an owned partition is not fetched yet: a caller waits for the reply to it. */
  readonly fetchAwaited: (record: { readonly partition: number; readonly offset: bigint }) => void
  /** Forgets the last assignment. */
  readonly reassign: () => void
}

/**
 * Records that may gather while callers wait for replies: the reply to the next awaited record waits for their fold. An import
 * brings thousands per second.
 */
const ENOUGH_RECORDS = 100
/** With fewer records in a fetch, the time between two fetches says nothing about their rate. */
const MANY_RECORDS = 50

/** After this time an unfetched record counts as unreadable, and no longer prevents the pause. */
const UNREADABLE_AFTER_MS = 1_000

/**
 * Pauses after a batch, so that records gather in the log and one fetch returns them all. Does not pause:
 * - while an idle partition lags behind the log's end, or has an awaited record;
 * - after a fetch of awaited records alone. The next record is likely to be awaited, too, and a fetch in flight returns it
 *   before a gateway names it.
 *
 * `isAwaited` returns true if a caller waits for the reply to a record. Such a consumer pauses for a shorter time if many
 * records arrive.
 */
export function createFetchPacing(pauseMs: number, isAwaited?: (record: FetchedRecord) => boolean): FetchPacing {
  /** The next offset of each partition. */
  const nextOffsets = new Map<number, bigint>()
  /** Partitions whose batch is not folded, which includes halted ones. */
  const folding = new Set<number>()
  /** The last awaited record, or record at the log's end, of each partition that has not fetched it; and since when. */
  const unfetched = new Map<number, { readonly offset: bigint; readonly sinceMs: number }>()
  const sleeper = createSleeper()
  let pause: Promise<void> | undefined
  let lastFetchMs = performance.now()

  function beginPause(): void {
    if (pause) return
    const begun = sleeper.sleep(pauseMs)
    pause = begun
    void begun.finally(() => {
      if (pause === begun) pause = undefined
    })
  }

  function fetchNow(): void {
    sleeper.wake()
    pause = undefined
  }

  const areAwaited = ({ records }: FetchedBatch): boolean =>
    isAwaited !== undefined && records.length > 0 && records.every(isAwaited)

  /** Ends the pause once enough records must have gathered, at the rate of the last fetch. */
  async function pauseUntilEnough(last: readonly FetchedBatch[]): Promise<void> {
    const fetched = last.reduce((sum, { fetchedFrom, nextOffset }) => sum + Number(nextOffset - fetchedFrom), 0)
    const nowMs = performance.now()
    const enoughInMs = (ENOUGH_RECORDS * (nowMs - lastFetchMs)) / fetched
    lastFetchMs = nowMs
    const isShort = isAwaited && fetched >= MANY_RECORDS && enoughInMs < pauseMs
    const timer = isShort ? setTimeout(fetchNow, enoughInMs) : undefined
    await pause
    clearTimeout(timer)
  }

  function mayPause(): boolean {
    const oldestMs = performance.now() - UNREADABLE_AFTER_MS
    return ![...unfetched].some(([partition, { sinceMs }]) => sinceMs > oldestMs && !folding.has(partition))
  }

  function noteUnfetched(partition: number, offset: bigint): void {
    const before = unfetched.get(partition)?.offset ?? -1n
    unfetched.set(partition, { offset: before > offset ? before : offset, sinceMs: performance.now() })
  }

  function noteFetched({ partition, nextOffset, highWatermark }: FetchedBatch): void {
    nextOffsets.set(partition, nextOffset)
    if ((unfetched.get(partition)?.offset ?? -1n) < nextOffset) unfetched.delete(partition)
    if (nextOffset < highWatermark) noteUnfetched(partition, highWatermark - 1n)
  }

  return {
    give: async (partition, batch) => {
      noteFetched(batch)
      beginPause()
      folding.add(batch.partition)
      try {
        return await partition.give(batch)
      } finally {
        folding.delete(batch.partition)
      }
    },
    mayFetch: async (last) => {
      if (last.every(areAwaited)) return
      if (mayPause()) await pauseUntilEnough(last)
      else fetchNow()
    },
    fetchNow,
    fetchAwaited: ({ partition, offset }) => {
      if (offset < (nextOffsets.get(partition) ?? 0n)) return
      noteUnfetched(partition, offset)
      fetchNow()
    },
    reassign: () => {
      nextOffsets.clear()
      unfetched.clear()
    },
  }
}

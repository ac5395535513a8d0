import type { AwaitedRecord } from '@nextvisit/contracts'
import { type FetchedBatch, type FetchedRecord, topicPartition } from '@nextvisit/log'
import type { Partition } from '../fold/partition.ts'

/**
 * How long records gather that nobody waits for: a commit of twenty records costs twice as much as one of one. A read that
 * another process than the partition's owner answers may wait as long.
 */
export const GATHER_MS = 400

/** Decides when the next batches are fetched. */
export interface FetchPacing {
  /** Gives the partition a batch that was fetched. Resolves, and rejects, as {@link Partition.give} does. */
  readonly handle: (partition: Partition, batch: FetchedBatch) => Promise<void>
  /** Resolves when the next fetch may follow the one with these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  /** Somebody waits for what gathers: it is fetched now. */
  readonly fetchNow: () => void
  /** A caller waits for what follows the fold of this record: it is fetched now, if it was not yet. Of an owned partition. */
  readonly fetchUpTo: (record: AwaitedRecord) => void
  /** Other partitions are owned from now on. */
  readonly reassign: () => void
}

/** What was not fetched so long after it was to be had is of a partition that cannot be read, and nothing waits for that. */
const WANTED_FOR_MS = 1_000

/**
 * A batch is folded at once, and the next fetch comes some time later: records gather in the log, and one fetch brings them
 * all. Nothing gathers while a partition that is ready to go on is behind the log's end, or has an awaited record.
 *
 * Nothing gathers either after a fetch whose every record was awaited: the next record is likely to be, too, and a fetch
 * that waits at the broker gets it before it is named. `isAwaited`: whether a caller waits for what follows the fold.
 */
export function createFetchPacing(
  gatherMs: number,
  isAwaited: (record: FetchedRecord) => boolean = () => false,
): FetchPacing {
  /** The next offset of each partition. */
  const read = new Map<string, bigint>()
  /** Partitions whose batch is not folded yet; a halted one stays here. */
  const folding = new Set<string>()
  /** The last offset that is worth a fetch now, and since when, where it was not fetched yet. */
  const wanted = new Map<string, { readonly offset: bigint; readonly sinceMs: number }>()
  let running: { readonly over: Promise<void>; readonly end: () => void } | undefined

  const beginGathering = (): void => {
    if (running) return
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => running?.end(), gatherMs)
    const end = (): void => {
      clearTimeout(timer)
      running = undefined
      resolve()
    }
    running = { over, end }
  }

  const areAwaited = ({ records }: FetchedBatch): boolean => records.length > 0 && records.every(isAwaited)

  const mayGather = (): boolean => {
    const oldestMs = performance.now() - WANTED_FOR_MS
    return ![...wanted].some(([name, { sinceMs }]) => sinceMs > oldestMs && !folding.has(name))
  }

  const want = (name: string, offset: bigint): void => {
    const before = wanted.get(name)?.offset ?? -1n
    wanted.set(name, { offset: before > offset ? before : offset, sinceMs: performance.now() })
  }

  const notice = (name: string, { nextOffset, highWatermark }: FetchedBatch): void => {
    read.set(name, nextOffset)
    if ((wanted.get(name)?.offset ?? -1n) < nextOffset) wanted.delete(name)
    if (nextOffset < highWatermark) want(name, highWatermark - 1n)
  }

  const fetchNow = (): void => running?.end()

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
      if (mayGather()) await running?.over
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

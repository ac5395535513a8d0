import type { AwaitedRecord } from '@nextvisit/contracts'
import type { FetchedBatch } from '@nextvisit/log'
import type { OwnedPartition } from './owned-partition.ts'

/**
 * How long records gather that nobody waits for: a commit of twenty records costs twice as much as one of one. It is half
 * of what admission waits for a partition that is folded as usual, and the longest that a read waits which another process
 * than the partition's owner answers.
 */
export const GATHER_MS = 250

/** Decides when the next batches are fetched. */
export interface Gathering {
  /** Resolves when the next batch of this partition may come. Rejects with what folding the batch rejects with. */
  readonly handle: (one: OwnedPartition, batch: FetchedBatch) => Promise<void>
  /** Somebody waits for what gathers: it is fetched now. */
  readonly hurry: () => void
  /** A caller waits for what follows the fold of this record: it is fetched now, if it was not yet. Of an owned partition. */
  readonly hurryTo: (record: AwaitedRecord) => void
  /** Other partitions are owned from now on. */
  readonly reassign: () => void
}

/**
 * A batch is folded at once, and the next fetch comes some time later: records gather in the log, and one fetch brings them
 * all. The consumer fetches nothing before every batch of the last fetch is handled, so nothing gathers while a partition
 * is behind the log's end, nor while a record of a fetched partition is awaited that the last fetch did not bring.
 */
export function createGathering(gatherMs: number): Gathering {
  /** The next offset of each partition, and whether that is behind the log's end. */
  const read = new Map<string, { readonly next: bigint; readonly isBehind: boolean }>()
  /** The last offset that somebody waits for, where it was not fetched yet. */
  const awaited = new Map<string, bigint>()
  let running: { readonly over: Promise<void>; readonly end: () => void } | undefined

  /** The end of the time that is running, or that begins now. */
  const untilGathered = (): Promise<void> => {
    if (running) return running.over
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => running?.end(), gatherMs)
    const end = (): void => {
      clearTimeout(timer)
      running = undefined
      resolve()
    }
    running = { over, end }
    return over
  }

  const mayGather = (): boolean => awaited.size === 0 && ![...read.values()].some(({ isBehind }) => isBehind)

  const notice = ({ topic, partition, nextOffset, highWatermark }: FetchedBatch): void => {
    const name = nameOf(topic, partition)
    read.set(name, { next: nextOffset, isBehind: nextOffset < highWatermark })
    if ((awaited.get(name) ?? -1n) < nextOffset) awaited.delete(name)
  }
  const hurry = (): void => running?.end()

  return {
    handle: async (one, batch) => {
      notice(batch)
      const over = untilGathered()
      await one.handle(batch)
      if (mayGather()) await over
      else hurry()
    },
    hurry,
    hurryTo: ({ topic, partition, offset }) => {
      const name = nameOf(topic, partition)
      if (offset < (read.get(name)?.next ?? 0n)) return
      awaited.set(name, offset)
      hurry()
    },
    reassign: () => {
      read.clear()
      awaited.clear()
    },
  }
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

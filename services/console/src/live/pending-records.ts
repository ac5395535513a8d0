import type { FetchedRecord } from '@nextvisit/log'

export interface PendingBounds {
  readonly maxRecords: number
  readonly maxBytes: number
}

export interface PendingRecords {
  readonly add: (partition: number, records: readonly FetchedRecord[]) => void
  /** Takes out what stands before these offsets, by partition, and says how many more did not fit meanwhile. */
  readonly take: (upTo: ReadonlyMap<number, bigint>) => {
    readonly records: readonly FetchedRecord[]
    readonly dropped: number
  }
}

interface Queue {
  readonly records: FetchedRecord[]
  bytes: number
}

/**
 * Records that were read and are not folded by everybody yet. Bounded: the oldest of the largest partition give way. So a
 * partition that stands still does not take the room of the others.
 */
export function createPendingRecords({ maxRecords, maxBytes }: PendingBounds): PendingRecords {
  const queues = new Map<number, Queue>()
  let dropped = 0

  /** Removes the oldest of whichever partition is largest, until all fit. */
  function makeRoom(max: number, sizeOf: (queue: Queue) => number, countOf: typeof countOfBytes): void {
    const all = [...queues.values()]
    for (;;) {
      const excess = all.reduce((sum, queue) => sum + sizeOf(queue), 0) - max
      if (excess <= 0) return
      const largest = all.reduce((one, other) => (sizeOf(other) > sizeOf(one) ? other : one))
      dropped += removeOldest(largest, countOf(largest, excess)).length
    }
  }

  return {
    add: (partition, records) => {
      const queue = queues.get(partition) ?? { records: [], bytes: 0 }
      queues.set(partition, queue)
      queue.records.push(...records)
      queue.bytes += bytesOf(records)
      makeRoom(
        maxRecords,
        (of) => of.records.length,
        (_, excess) => excess,
      )
      makeRoom(maxBytes, (of) => of.bytes, countOfBytes)
    },
    take: (upTo) => {
      const records = [...queues].flatMap(([partition, queue]) => {
        const end = upTo.get(partition)
        if (end === undefined) return []
        const index = queue.records.findIndex(({ offset }) => offset >= end)
        return removeOldest(queue, index === -1 ? queue.records.length : index)
      })
      const result = { records, dropped }
      dropped = 0
      return result
    },
  }
}

function removeOldest(queue: Queue, count: number): readonly FetchedRecord[] {
  const removed = queue.records.splice(0, count)
  queue.bytes -= bytesOf(removed)
  return removed
}

/** How many of the oldest have so many bytes. */
function countOfBytes({ records }: Queue, bytes: number): number {
  let [count, counted] = [0, 0]
  while (count < records.length && counted < bytes) {
    counted += bytesIn(records[count])
    count += 1
  }
  return count
}

function bytesOf(records: readonly FetchedRecord[]): number {
  return records.reduce((sum, record) => sum + bytesIn(record), 0)
}

function bytesIn(record: FetchedRecord | undefined): number {
  return record?.value?.byteLength ?? 0
}

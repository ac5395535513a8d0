import { bytesOfRecord, type FetchedRecord } from '@nextvisit/log'

interface Queue {
  readonly records: FetchedRecord[]
  bytes: number
}

/**
 * Holds records until every consumer has folded them. When full, it drops the oldest of the largest partition, so a halted
 * partition does not displace the others.
 */
export function createPendingRecords({
  maxRecords,
  maxBytes,
}: {
  readonly maxRecords: number
  readonly maxBytes: number
}) {
  const queues = new Map<number, Queue>()
  let dropped = 0

  /** Drops the oldest records of the largest partition until the rest fits. */
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
    add: (partition: number, records: readonly FetchedRecord[]): void => {
      const queue = queues.get(partition) ?? { records: [], bytes: 0 }
      queues.set(partition, queue)
      const copies = records.map(copyOf)
      queue.records.push(...copies)
      queue.bytes += bytesOf(copies)
      makeRoom(
        maxRecords,
        ({ records: held }) => held.length,
        (_, excess) => excess,
      )
      makeRoom(maxBytes, ({ bytes }) => bytes, countOfBytes)
    },
    /**
     * Removes and returns the records below these offsets, by partition. `dropped`: number that did not fit since the
     * last call.
     */
    take: (
      upTo: ReadonlyMap<number, bigint>,
    ): { readonly records: readonly FetchedRecord[]; readonly dropped: number } => {
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

/**
 * Copies the value, which is a part of all bytes of a fetch: one record of a halted partition would keep them in memory. The
 * feed does not need the key.
 */
function copyOf(record: FetchedRecord): FetchedRecord {
  const { value } = record
  if (value === null) return { ...record, key: null }
  const copy = Buffer.allocUnsafeSlow(value.length)
  value.copy(copy)
  return { ...record, key: null, value: copy }
}

function removeOldest(queue: Queue, count: number): readonly FetchedRecord[] {
  const removed = queue.records.splice(0, count)
  queue.bytes -= bytesOf(removed)
  return removed
}

/** Returns how many of the oldest records add up to this many bytes. */
function countOfBytes({ records }: Queue, bytes: number): number {
  let [count, counted] = [0, 0]
  while (count < records.length && counted < bytes) {
    const record = records[count]
    counted += record ? bytesOfRecord(record) : 0
    count += 1
  }
  return count
}

function bytesOf(records: readonly FetchedRecord[]): number {
  return records.reduce((sum, record) => sum + bytesOfRecord(record), 0)
}

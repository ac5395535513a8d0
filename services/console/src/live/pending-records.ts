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

/** Records that were read and are not folded by everybody yet. Bounded: the oldest of a partition give way to its newer ones. */
export function createPendingRecords({ maxRecords, maxBytes }: PendingBounds): PendingRecords {
  const queues = new Map<number, FetchedRecord[]>()
  let [count, bytes, dropped] = [0, 0, 0]

  function forget(records: readonly FetchedRecord[]): void {
    count -= records.length
    for (const record of records) bytes -= sizeOf(record)
  }

  /** How many of the oldest have to go. */
  function excessOf(queue: readonly FetchedRecord[]): number {
    let [overCount, overBytes, index] = [count - maxRecords, bytes - maxBytes, 0]
    while (index < queue.length && (overCount > 0 || overBytes > 0)) {
      overCount -= 1
      overBytes -= sizeOf(queue[index])
      index += 1
    }
    return index
  }

  return {
    add: (partition, records) => {
      const queue = queues.get(partition) ?? []
      queues.set(partition, queue)
      queue.push(...records)
      count += records.length
      for (const record of records) bytes += sizeOf(record)
      const gone = queue.splice(0, excessOf(queue))
      forget(gone)
      dropped += gone.length
    },
    take: (upTo) => {
      const records = [...queues].flatMap(([partition, queue]) => {
        const end = upTo.get(partition)
        if (end === undefined) return []
        const index = queue.findIndex(({ offset }) => offset >= end)
        return queue.splice(0, index === -1 ? queue.length : index)
      })
      forget(records)
      const result = { records, dropped }
      dropped = 0
      return result
    },
  }
}

function sizeOf(record: FetchedRecord | undefined): number {
  return record?.value?.byteLength ?? 0
}

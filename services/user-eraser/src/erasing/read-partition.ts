import type { WorkParts } from '@nextvisit/consumer'
import { type FetchedRecord, readLog, type Watermarks } from '@nextvisit/log'

export interface PartitionParts extends Pick<WorkParts, 'connection' | 'logger'> {
  readonly topic: string
  readonly signal: AbortSignal
}

/** Reads a partition of the topic of keys between two offsets. Rejects if `signal` is aborted. */
export async function readPartition(
  { connection, logger, topic, signal }: PartitionParts,
  partition: number,
  { low, high }: Watermarks,
  take: (record: FetchedRecord) => void,
): Promise<void> {
  if (low >= high) return
  await readLog(connection, {
    topic,
    from: new Map([[partition, low]]),
    until: new Map([[partition, high]]),
    withStandIns: true,
    signal,
    logger,
    onBatch: ({ records }) => records.forEach(take),
  })
  // An aborted reading resolves, too.
  signal.throwIfAborted()
}

import type { GroupReaderHandlers } from '@nextvisit/log'
import { mayPass, RunnerStoppedError } from '../core/errors.ts'
import type { FetchPacing } from './fetch-pacing.ts'
import type { OwnedPartitions } from './owned-partitions.ts'

/** Returns the handlers of fetched batches and unreadable partitions. */
export function readerHandlers(
  owned: OwnedPartitions,
  pacing: Pick<FetchPacing, 'give' | 'mayFetch'>,
  signal: AbortSignal,
): Pick<GroupReaderHandlers, 'onBatch' | 'mayFetch' | 'onUnreadable'> {
  return {
    onBatch: async (batch) => {
      const partition = owned.find(batch.partition)
      if (!partition) return undefined
      try {
        return await pacing.give(partition, batch)
      } catch (error) {
        // Another process owns the partition now and folds the batch. The reader drops it, too.
        if (!(error instanceof RunnerStoppedError) || signal.aborted) throw error
        return undefined
      }
    },
    mayFetch: pacing.mayFetch,
    onUnreadable: (_topic, partition, error) => {
      const unreadable = owned.find(partition)
      // The reader retries a partition that its broker refuses for a time. It also reads an undecodable batch again.
      if (mayPass(error)) unreadable?.noticeRefused(error)
      else unreadable?.halt(error)
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { FetchedBatch } from '@nextvisit/log'

const SMALL_BATCH_RECORDS = 100

/**
 * A wait before a small batch at the log's end is folded. Meanwhile records gather at the broker: the next fetch brings
 * more of them for one commit, and the evaluator, which callers wait for most, goes first. A fetch brings the batches of
 * several partitions right after each other: only the first of them waits.
 */
export function createLinger(lingerMs: number, signal: AbortSignal): (batch: FetchedBatch) => Promise<void> {
  let lingeredAt = -Infinity

  return async ({ records, nextOffset, highWatermark }) => {
    const isAtEnd = nextOffset === highWatermark
    if (records.length >= SMALL_BATCH_RECORDS || !isAtEnd || performance.now() - lingeredAt < lingerMs) return
    await sleep(lingerMs, undefined, { signal }).catch(() => {}) // stopping ends it
    lingeredAt = performance.now()
  }
}

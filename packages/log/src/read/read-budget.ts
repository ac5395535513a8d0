import type { DecodeBounds } from '../wire/decode-batch.ts'

/** Decoded records of one batch, except that one record may be larger. A commit of the core has twice as many bytes. */
export const MAX_BATCH_BYTES = 2 * 1024 * 1024

/** Decoded records of all partitions of a group reader: each partition holds one batch. */
const MAX_GROUP_BYTES = 32 * 1024 * 1024
const MAX_GROUP_RECORDS = 24_000

/**
 * Returns the bounds of the batches of a group reader that owns this many partitions. A share for each, instead of a common
 * pool: a halted partition holds its batch until an operator acts, and must not take from the others.
 */
export function shareOf(partitions: number, maxBatchRecords: number): DecodeBounds {
  return {
    maxRecords: Math.max(1, Math.min(maxBatchRecords, Math.floor(MAX_GROUP_RECORDS / partitions))),
    maxBytes: Math.min(MAX_BATCH_BYTES, Math.floor(MAX_GROUP_BYTES / partitions)),
  }
}

/** A number of bytes that several users share. */
interface ByteBudget {
  /** Resolves once this many bytes are free, in the order of the calls, to a function that returns them. Rejects if aborted. */
  readonly take: (bytes: number, signal: AbortSignal) => Promise<() => void>
  /** Takes bytes only if they are free and no reader waits. */
  readonly takeIfFree: (bytes: number) => (() => void) | undefined
}

interface Waiter {
  readonly bytes: number
  readonly grant: (giveBack: () => void) => void
}

export function createByteBudget(maxBytes: number): ByteBudget {
  let free = maxBytes
  const waiting = new Set<Waiter>()

  function grant(bytes: number): () => void {
    free -= bytes
    let isGivenBack = false
    return () => {
      if (isGivenBack) return
      isGivenBack = true
      free += bytes
      grantWaiting()
    }
  }

  function grantWaiting(): void {
    for (const waiter of waiting) {
      if (waiter.bytes > free) return
      waiting.delete(waiter)
      waiter.grant(grant(waiter.bytes))
    }
  }

  const takeIfFree: ByteBudget['takeIfFree'] = (bytes) =>
    bytes <= free && waiting.size === 0 ? grant(bytes) : undefined

  return {
    takeIfFree,
    take: async (bytes, signal) => {
      signal.throwIfAborted()
      const taken = takeIfFree(bytes)
      if (taken) return taken
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      const waiter = { bytes, grant: resolve }
      const giveUp = (): void => {
        waiting.delete(waiter)
        reject(signal.reason)
        grantWaiting()
      }
      waiting.add(waiter)
      signal.addEventListener('abort', giveUp)
      return promise.finally(() => signal.removeEventListener('abort', giveUp))
    },
  }
}

/** Fetched bytes and decoded records of all readers of this process without a group. About ten read at once. */
export const readerBudget = createByteBudget(64 * 1024 * 1024)

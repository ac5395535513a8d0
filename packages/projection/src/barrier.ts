import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@nextvisit/database'
import type { LogAdmin, Watermarks } from '@nextvisit/log'
import { readNextOffsets } from './checkpoints.ts'

export interface BarrierOptions {
  readonly db: Db
  readonly logAdmin: Pick<LogAdmin, 'watermarks'>
  readonly projection: string
  readonly topic: string
  readonly pollEveryMs?: number
  /** Called again and again while somebody waits. */
  readonly hurry?: () => void
}

/**
 * Waits until these partitions are folded up to the end that the log had at the call. Rows that are read afterwards
 * include everything that was answered before the call. Any instance can wait, not only the partitions' owners, since
 * checkpoints are in Postgres. Rejects with the signal's reason once aborted, and with what Kafka or Postgres throws.
 */
export type Barrier = (partitions: readonly number[], signal: AbortSignal) => Promise<void>

export function createBarrier({ db, logAdmin, projection, topic, pollEveryMs = 10, hurry }: BarrierOptions): Barrier {
  const readEnds = shared<ReadonlyMap<number, Watermarks>>(() => logAdmin.watermarks(topic))
  const readFolded = shared(() => readNextOffsets(db, projection, topic))

  return async (partitions, signal) => {
    const ends = await unlessAborted(readEnds(), signal)
    for (;;) {
      const folded = await unlessAborted(readFolded(), signal)
      // A partition that is not in the log is never folded.
      const isPast = (partition: number) => (folded.get(partition) ?? 0n) >= (ends.get(partition)?.high ?? Infinity)
      if (partitions.every(isPast)) return
      hurry?.()
      await unlessAborted(sleep(pollEveryMs), signal)
    }
  }
}

/** A caller may leave long before a call to a frozen Kafka or Postgres times out. */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    if (signal.aborted) onAbort()
    return await Promise.race([answer, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** One call in flight. Callers that come meanwhile share the next one, so no answer is older than its question. */
function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | undefined
  let next: Promise<T> | undefined

  const begin = (): Promise<T> => {
    next = undefined
    inFlight = call().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }

  return () => {
    if (!inFlight) return begin()
    next ??= inFlight.then(begin, begin)
    return next
  }
}

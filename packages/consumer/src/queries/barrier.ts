import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@nextvisit/database'
import { type LogAdmin, partitionForKey, unlessAborted, type Watermarks } from '@nextvisit/log'
import { readNextOffsets } from '../fold/checkpoint.ts'

interface BarrierParts {
  readonly db: Db
  readonly logAdmin: Pick<LogAdmin, 'watermarks'>
  readonly projection: string
  readonly topic: string
  readonly pollEveryMs?: number
  /** Called at each poll while a caller waits: fetches gathered records now. */
  readonly fetchNow?: () => void
}

/**
 * Waits until these partitions are folded up to the end that the log had at the call. Rows read afterwards include every
 * record that was acknowledged before the call. Any instance can wait, not only the owners: checkpoints are in Postgres.
 * Rejects with the signal's reason once aborted, and with errors of Kafka and Postgres.
 */
export type Barrier = (partitions: readonly number[], signal: AbortSignal) => Promise<void>

export function createBarrier({ db, logAdmin, projection, topic, pollEveryMs = 10, fetchNow }: BarrierParts): Barrier {
  const readEnds = shared<ReadonlyMap<number, Watermarks>>(() => logAdmin.watermarks(topic))
  const readFolded = shared(() => readNextOffsets(db, projection, topic))

  return async (partitions, signal) => {
    // A call to a frozen Kafka or Postgres times out much later.
    const ends = await unlessAborted(readEnds(), signal)
    for (;;) {
      const folded = await unlessAborted(readFolded(), signal)
      // A partition that is not in the log is never folded.
      const isPast = (partition: number) => (folded.get(partition) ?? 0n) >= (ends.get(partition)?.high ?? Infinity)
      if (partitions.every(isPast)) return
      fetchNow?.()
      await unlessAborted(sleep(pollEveryMs), signal)
    }
  }
}

/** The context of a call that waits for folds. */
interface CatchUpParts {
  readonly barrier: Barrier
  /** The caller's: see `CallContext`. */
  readonly signal: AbortSignal
  /** A `performance.now()` instant. */
  readonly deadlineAt: number
  /** The longest wait. Default: until shortly before the deadline. */
  readonly withinMs?: number
}

/**
 * Longest wait of a read for records in flight, ms. After that, an answer without the latest records is better than none.
 * The rest of the caller's 2 s is for the answer.
 */
export const READ_BARRIER_WITHIN_MS = 1_000
/** The part of the caller's time that is kept for the answer, ms. */
const KEPT_FOR_ANSWER_MS = 100

/**
 * Waits until the records of one user, or of all users, are folded up to the log's end at the call. Returns false if that
 * takes too long or fails. Rejects only if the caller has disconnected.
 */
export async function catchUp(
  of: 'all users' | { readonly userId: string },
  options: CatchUpParts & { readonly countKeyPartitions: () => Promise<number> },
): Promise<boolean> {
  const wait = waitSignal(options)
  try {
    const count = await unlessAborted(options.countKeyPartitions(), wait)
    const partitions =
      of === 'all users'
        ? Array.from({ length: count }, (_, partition) => partition)
        : [partitionForKey(of.userId, count)]
    await options.barrier(partitions, wait)
    return true
  } catch (error) {
    if (options.signal.aborted) throw error
    return false
  }
}

/** Returns the mark of an answer that may lack the latest records. */
export function staleUnless(isCaughtUp: boolean): { readonly stale?: true } {
  return isCaughtUp ? {} : { stale: true }
}

/** Returns the partitions that are folded, in time, up to the log's end at the call. */
export async function findCaughtUp(
  partitions: ReadonlySet<number>,
  options: CatchUpParts,
): Promise<ReadonlySet<number>> {
  const within = waitSignal(options)
  const folded = new Set<number>()
  const waits = Array.from(partitions, async (partition) => {
    try {
      await options.barrier([partition], within)
      folded.add(partition)
    } catch (error) {
      if (!within.aborted) throw error
    }
  })
  await Promise.all(waits)
  return folded
}

/** Returns a signal that is aborted when the caller disconnects, or when the wait must end for the answer to be in time. */
function waitSignal({ signal, deadlineAt, withinMs = Infinity }: Omit<CatchUpParts, 'barrier'>): AbortSignal {
  // A timeout with a fraction of a millisecond is an error.
  const leftMs = Math.max(0, Math.floor(deadlineAt - performance.now() - KEPT_FOR_ANSWER_MS))
  return AbortSignal.any([signal, AbortSignal.timeout(Math.min(withinMs, leftMs))])
}

/** Shares calls: one is in flight, and callers that come meanwhile share the next one. No answer is older than its question. */
function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | undefined
  let next: Promise<T> | undefined

  function begin(): Promise<T> {
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

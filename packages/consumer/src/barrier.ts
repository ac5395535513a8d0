import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@nextvisit/database'
import { type LogAdmin, partitionForKey, type Watermarks } from '@nextvisit/log'
import { readNextOffsets } from './fold/checkpoint.ts'

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

export interface CatchUpParts {
  readonly barrier: Barrier
  readonly countPartitions: () => Promise<number>
}

export interface CatchUpOptions {
  /** Of the caller: see `CallContext`. */
  readonly signal: AbortSignal
  /** A `performance.now()` instant. */
  readonly deadlineAt: number
  /** The longest wait. Default: until shortly before the deadline. */
  readonly withinMs?: number
}

/**
 * Enough for records that are on their way. After that, an answer without the latest records is better than none. The rest
 * of the caller's 2 s is for the answer.
 */
export const READ_BARRIER_WITHIN_MS = 1_000
/** Of the caller's time, what is left for the answer. */
const KEPT_FOR_ANSWER_MS = 100

/**
 * Whether everything of this user, or of all users, is folded up to the log's end as it was at the call, within the time.
 * False also where that cannot be found out. Rejects only for a caller who is gone.
 */
export async function catchUp(
  { barrier, countPartitions }: CatchUpParts,
  of: 'all users' | { readonly userId: string },
  options: CatchUpOptions,
): Promise<boolean> {
  const wait = waitSignal(options)
  try {
    const count = await unlessAborted(countPartitions(), wait)
    const partitions =
      of === 'all users'
        ? Array.from({ length: count }, (_, partition) => partition)
        : [partitionForKey(of.userId, count)]
    await barrier(partitions, wait)
    return true
  } catch (error) {
    if (options.signal.aborted) throw error
    return false
  }
}

/** Which of these partitions are folded up to the log's end as it was at the call, within the time. */
export async function findCaughtUp(
  barrier: Barrier,
  partitions: ReadonlySet<number>,
  options: CatchUpOptions,
): Promise<ReadonlySet<number>> {
  const within = waitSignal(options)
  const folded = new Set<number>()
  const waits = Array.from(partitions, async (partition) => {
    try {
      await barrier([partition], within)
      folded.add(partition)
    } catch (error) {
      if (!within.aborted) throw error
    }
  })
  await Promise.all(waits)
  return folded
}

/** Aborted when the caller is gone, or when the wait has to end so that the answer comes in time. */
function waitSignal({ signal, deadlineAt, withinMs = Infinity }: CatchUpOptions): AbortSignal {
  // A timeout of a part of a millisecond is an error.
  const leftMs = Math.max(0, Math.floor(deadlineAt - performance.now() - KEPT_FOR_ANSWER_MS))
  return AbortSignal.any([signal, AbortSignal.timeout(Math.min(withinMs, leftMs))])
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

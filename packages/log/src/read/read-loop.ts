import { setTimeout as sleep } from 'node:timers/promises'
import { backOffAfter } from '../connect/keep-trying.ts'
import { hasGivenUp, isRetryable } from '../connect/kafkajs-errors.ts'
import type { Logger } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import type { FetchedPartition, FetchPosition } from '../wire/fetch-message.ts'
import type { FetchedBatch } from './fetched-batch.ts'

/**
 * A partition that the broker did not serve, perhaps because it has another leader, or whose batch cannot be decoded. It is
 * not idle before `retry`.
 */
export interface RefusedPartition {
  readonly error: Error
  /** Number of refusals in succession. */
  readonly refusals: number
  /** Time in ms until the retry. Default: grows with `refusals`. */
  readonly afterMs?: number
  readonly retry: () => void
}

/** A fetched partition, with the time of its request. */
export type TimedPartition = FetchedPartition & Pick<FetchedBatch, 'fetch'>

export interface ReadLoopParts {
  /** Positions of the partitions without a batch in flight. `areOthersBusy`: other partitions have one. */
  readonly idle: () => { readonly positions: readonly FetchPosition[]; readonly areOthersBusy: boolean }
  readonly byLeader: (positions: readonly FetchPosition[]) => ReadonlyMap<number, readonly FetchPosition[]>
  /** `maxWaitMs`: maximum time for which the broker holds a fetch that finds no records. */
  readonly fetch: (
    nodeId: number,
    positions: readonly FetchPosition[],
    maxWaitMs: number,
  ) => Promise<readonly TimedPartition[]>
  /**
   * Gives fetched batches to the handlers. `handling` has a promise for each partition with batches, which resolves once the
   * partition is idle again or refused, and never rejects. `latest` returns the latest batch of each partition: earlier ones are not
   * kept. Throws if a partition can never be read.
   */
  readonly deliver: (fetched: readonly TimedPartition[]) => {
    readonly latest: () => readonly FetchedBatch[]
    readonly handling: readonly Promise<RefusedPartition | undefined>[]
    readonly refused: readonly RefusedPartition[]
  }
  /** Resolves when the next fetch may follow the one that returned these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  /** Called when the loop ends because fetches failed permanently or too often. */
  readonly onFailed: (error: Error) => void
  readonly maxWaitMs: number
  readonly logger: Logger
}

/** Limit of `maxWaitMs` while partitions are busy: their next fetch waits for the one in flight. */
const WAIT_BESIDE_BUSY_MS = 100
/** Maximum time in ms for which the next fetch waits for busy partitions, to include them. */
const AWAIT_HANDLED_MS = 500
/** Maximum consecutive failures of one broker. After them a new client is tried. */
const MAX_FAILURES = 20
/** The first failures are logged as debug: they are usual while a leader changes. */
const QUIET_FAILURES = 3
const LONGEST_BACK_OFF_MS = 1_000

/** Reads partitions until `signal` is aborted, with at most one fetch in flight per broker, and none while all are busy. */
export function startReadLoop(parts: ReadLoopParts, signal: AbortSignal): void {
  const { idle, byLeader, fetch, deliver, mayFetch, logger } = parts
  const refreshMetadata = shareInFlight(parts.refreshMetadata)
  /** Brokers whose last fetch is in flight, or not concluded. */
  const turns = new Set<number>()
  const failures = new Map<number, number>()

  /** Fetches from each broker that leads an idle partition and has no turn. */
  function fetchIdle(): void {
    if (signal.aborted) return
    const { positions, areOthersBusy } = idle()
    const maxWaitMs = areOthersBusy ? Math.min(parts.maxWaitMs, WAIT_BESIDE_BUSY_MS) : parts.maxWaitMs
    for (const [nodeId, led] of byLeader(positions)) {
      if (turns.has(nodeId)) continue
      turns.add(nodeId)
      const turn = takeTurn(nodeId, () => fetch(nodeId, led, maxWaitMs))
      turn.finally(() => turns.delete(nodeId)).then(fetchIdle, fail)
    }
  }

  function fail(error: unknown): void {
    if (!signal.aborted) parts.onFailed(error as Error)
  }

  async function takeTurn(nodeId: number, fetchOnce: () => Promise<readonly TimedPartition[]>): Promise<void> {
    let fetched: readonly TimedPartition[]
    try {
      fetched = await fetchOnce()
    } catch (error) {
      const count = (failures.get(nodeId) ?? 0) + 1
      if (signal.aborted || count > MAX_FAILURES || hasGivenUp(error) || !isRetryable(error)) throw error
      failures.set(nodeId, count)
      return backOff(count, error, { broker: nodeId })
    }
    failures.delete(nodeId)
    if (signal.aborted) return
    const { latest, handling, refused } = deliver(fetched)
    for (const one of handling) one.then((unread) => unread && retryLater(unread)).then(fetchIdle, fail)
    for (const one of refused) retryLater(one).then(fetchIdle, fail)
    if (handling.length === 0) return
    await isSettledWithin(AWAIT_HANDLED_MS, Promise.all(handling))
    await mayFetch(latest())
  }

  async function retryLater({ error, refusals, afterMs, retry }: RefusedPartition): Promise<void> {
    await backOff(refusals, error, {}, afterMs)
    retry()
  }

  /** Waits and refreshes the leaders. Rejects if no broker answers. */
  async function backOff(
    count: number,
    error: unknown,
    fields: object,
    afterMs = backOffAfter(count, LONGEST_BACK_OFF_MS),
  ): Promise<void> {
    logger[count > QUIET_FAILURES ? 'warn' : 'debug']({ err: error, ...fields }, 'Cannot fetch; retrying')
    await sleep(afterMs, undefined, { signal })
    await refreshMetadata()
  }

  fetchIdle()
}

/** Returns a function whose callers share the call in flight: as many partitions may need new leaders as the topic has. */
function shareInFlight(run: () => Promise<void>): () => Promise<void> {
  let inFlight: Promise<void> | undefined
  return () => (inFlight ??= run().finally(() => (inFlight = undefined)))
}

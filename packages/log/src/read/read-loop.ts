import { setTimeout as sleep } from 'node:timers/promises'
import { backOffAfter } from '../connect/back-off.ts'
import { hasGivenUp, isRetryable } from '../connect/kafkajs-errors.ts'
import type { Logger } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import type { FetchedPartition, FetchPosition } from '../wire/fetch-message.ts'
import type { FetchedBatch } from './group-reader.ts'

/** The batches of one fetch from a broker. */
export interface Given {
  readonly batches: readonly FetchedBatch[]
  /** One promise for each of their partitions. Resolves once the partition is free again. Never rejects. */
  readonly handling: readonly Promise<void>[]
  /** A temporary refusal of a partition: its leader may have changed. */
  readonly refusal?: Error | undefined
}

export interface ReadLoopParts {
  /** Positions of the partitions without a batch in flight. `areOthersBusy`: other partitions have one. */
  readonly wanted: () => { readonly positions: readonly FetchPosition[]; readonly areOthersBusy: boolean }
  readonly byLeader: (positions: readonly FetchPosition[]) => ReadonlyMap<number, readonly FetchPosition[]>
  /** `maxWaitMs`: maximum time for which the broker holds a fetch that finds no records. */
  readonly fetch: (
    nodeId: number,
    positions: readonly FetchPosition[],
    maxWaitMs: number,
  ) => Promise<readonly FetchedPartition[]>
  /** Starts to handle fetched batches. Throws if a partition can never be read. */
  readonly give: (fetched: readonly FetchedPartition[]) => Given
  /** Resolves when the next fetch may follow the one that returned these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  /** Called when the loop ends because fetches failed permanently or too often. */
  readonly onFailed: (error: Error) => void
  readonly maxWaitMs: number
  readonly logger: Logger
}

interface ReadLoop {
  /** Fetches from each broker that leads a wanted partition and has no fetch in flight. */
  readonly wake: () => void
}

/** Limit of `maxWaitMs` while partitions are busy: their next fetch waits for the one in flight. */
const WAIT_BESIDE_BUSY_MS = 100
/** Maximum time in ms for which the next fetch waits for busy partitions, to include them. */
const AWAIT_HANDLED_MS = 500
/** Maximum consecutive failures of one broker. After them a new client is tried. */
const MAX_FAILURES = 20
/** The first failures are logged as debug: they are usual while a leader changes. */
const QUIET_FAILURES = 3
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 1_000

/** Reads partitions until `signal` is aborted, with at most one fetch in flight per broker, and none while all are busy. */
export function createReadLoop(parts: ReadLoopParts, signal: AbortSignal): ReadLoop {
  const { wanted, byLeader, fetch, give, mayFetch, refreshMetadata, onFailed, logger } = parts
  const turns = new Set<number>()
  const failures = new Map<number, number>()

  function wake(): void {
    if (signal.aborted) return
    const { positions, areOthersBusy } = wanted()
    const maxWaitMs = areOthersBusy ? Math.min(parts.maxWaitMs, WAIT_BESIDE_BUSY_MS) : parts.maxWaitMs
    for (const [nodeId, led] of byLeader(positions)) {
      if (turns.has(nodeId)) continue
      turns.add(nodeId)
      void takeTurn(nodeId, () => fetch(nodeId, led, maxWaitMs))
    }
  }

  async function takeTurn(nodeId: number, fetchOnce: () => Promise<readonly FetchedPartition[]>): Promise<void> {
    try {
      await readOnce(nodeId, fetchOnce)
      turns.delete(nodeId)
      wake()
    } catch (error) {
      if (!signal.aborted) onFailed(error as Error)
    }
  }

  async function readOnce(nodeId: number, fetchOnce: () => Promise<readonly FetchedPartition[]>): Promise<void> {
    let fetched: readonly FetchedPartition[]
    try {
      fetched = await fetchOnce()
    } catch (error) {
      const isOver = hasGivenUp(error) || (failures.get(nodeId) ?? 0) >= MAX_FAILURES
      if (signal.aborted || isOver || !isRetryable(error)) throw error
      return backOff(nodeId, error)
    }
    if (signal.aborted) return
    const { batches, handling, refusal } = give(fetched)
    if (refusal) await backOff(nodeId, refusal)
    else failures.delete(nodeId)
    if (batches.length === 0) return
    for (const one of handling) void one.then(wake)
    await isSettledWithin(AWAIT_HANDLED_MS, Promise.all(handling))
    await mayFetch(batches)
  }

  /** Waits and refreshes the leaders. Rejects if no broker answers. */
  async function backOff(nodeId: number, error: unknown): Promise<void> {
    const count = (failures.get(nodeId) ?? 0) + 1
    failures.set(nodeId, count)
    logger[count > QUIET_FAILURES ? 'warn' : 'debug']({ err: error, broker: nodeId }, 'Cannot fetch; retrying')
    await sleep(backOffAfter(count, FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS), undefined, { signal })
    await refreshMetadata()
  }

  return { wake }
}

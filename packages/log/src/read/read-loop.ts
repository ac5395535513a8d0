import { setTimeout as sleep } from 'node:timers/promises'
import { hasGivenUp, isRetryable } from '../connect/kafkajs-errors.ts'
import type { Logger } from '../connect/log-connection.ts'
import { isSettledWithin } from '../connect/within.ts'
import type { FetchedPartition, FetchPosition } from '../wire/fetch-message.ts'
import type { FetchedBatch } from './group-reader.ts'

/** The batches of one fetch of a broker. */
export interface Given {
  readonly batches: readonly FetchedBatch[]
  /** One for each of their partitions. Resolves once it is free again. Never rejects. */
  readonly handling: readonly Promise<void>[]
  /** The broker refused a partition for now: it may have another leader. */
  readonly refusal?: Error | undefined
}

export interface ReadLoopParts {
  /** Where the partitions without a batch are read on, and whether others have one. */
  readonly wanted: () => { readonly positions: readonly FetchPosition[]; readonly areOthersBusy: boolean }
  readonly byLeader: (positions: readonly FetchPosition[]) => ReadonlyMap<number, readonly FetchPosition[]>
  /** `maxWaitMs`: how long the broker may hold a fetch that finds nothing. */
  readonly fetch: (
    nodeId: number,
    positions: readonly FetchPosition[],
    maxWaitMs: number,
  ) => Promise<readonly FetchedPartition[]>
  /** Throws where a partition can never be read. */
  readonly give: (fetched: readonly FetchedPartition[]) => Given
  /** Resolves when the next fetch may follow the one with these batches. */
  readonly mayFetch: (last: readonly FetchedBatch[]) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  /** The loop has ended: fetches failed too often, or for good. */
  readonly onFailed: (error: Error) => void
  readonly maxWaitMs: number
  readonly logger: Logger
}

export interface ReadLoop {
  /** Fetches from each broker that leads a wanted partition, unless a fetch of it is under way. */
  readonly wake: () => void
}

/** A busy partition may want its next batch at any moment, and is fetched only after the fetch under way. */
const WAIT_BESIDE_BUSY_MS = 100
/** A fetch waits so long for partitions that are almost free: without them, their next batches would come later. */
const AWAIT_HANDLED_MS = 500
/** Failures of one broker in a row. A new client may do better. */
const MAX_FAILURES = 20
/** The first ones may be those of a leader that changes. */
const QUIET_FAILURES = 3
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 1_000

/** Reads wanted partitions until `signal` is aborted: one fetch at a time from each broker, and none while all are busy. */
export function createReadLoop(parts: ReadLoopParts, signal: AbortSignal): ReadLoop {
  const { wanted, byLeader, fetch, give, mayFetch, refreshMetadata, onFailed, logger } = parts
  const turns = new Set<number>()
  const failures = new Map<number, number>()

  const wake = (): void => {
    if (signal.aborted) return
    const { positions, areOthersBusy } = wanted()
    const maxWaitMs = areOthersBusy ? Math.min(parts.maxWaitMs, WAIT_BESIDE_BUSY_MS) : parts.maxWaitMs
    for (const [nodeId, led] of byLeader(positions)) {
      if (turns.has(nodeId)) continue
      turns.add(nodeId)
      void takeTurn(nodeId, () => fetch(nodeId, led, maxWaitMs))
    }
  }

  const takeTurn = async (nodeId: number, fetchOnce: () => Promise<readonly FetchedPartition[]>): Promise<void> => {
    try {
      await readOnce(nodeId, fetchOnce)
      turns.delete(nodeId)
      wake()
    } catch (error) {
      if (!signal.aborted) onFailed(error as Error)
    }
  }

  const readOnce = async (nodeId: number, fetchOnce: () => Promise<readonly FetchedPartition[]>): Promise<void> => {
    let fetched: readonly FetchedPartition[]
    try {
      fetched = await fetchOnce()
    } catch (error) {
      const isOver = hasGivenUp(error) || (failures.get(nodeId) ?? 0) === MAX_FAILURES
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

  /** Leaders may have changed. Rejects where no broker can say so. */
  const backOff = async (nodeId: number, error: unknown): Promise<void> => {
    const count = (failures.get(nodeId) ?? 0) + 1
    failures.set(nodeId, count)
    logger[count > QUIET_FAILURES ? 'warn' : 'debug']({ err: error, broker: nodeId }, 'Cannot fetch; trying again')
    await sleep(Math.min(FIRST_BACK_OFF_MS * 2 ** (count - 1), LONGEST_BACK_OFF_MS), undefined, { signal })
    await refreshMetadata()
  }

  return { wake }
}

import { PartitionRefusedError, PositionOutsideLogError, UndecodableBatchError } from '../errors.ts'
import { toError } from '../to-error.ts'
import { topicPartition } from '../topic-partition.ts'
import type { DecodeBounds } from '../wire/decode-batch.ts'
import { NO_ERROR, OFFSET_OUT_OF_RANGE } from '../wire/error-codes.ts'
import type { FetchPosition } from '../wire/fetch-message.ts'
import { type FetchedBatch, fetchedBatches } from './fetched-batch.ts'
import type { ReadLoopParts, RefusedPartition, TimedPartition } from './read-loop.ts'
import type { ContinueAt, GroupReaderHandlers } from './group-reader-options.ts'
import { MAX_OUTSIDE_LOG } from './require-in-log.ts'

interface AssignedPartitionsOptions {
  /** Partitions without a position are not read. */
  readonly positions: readonly FetchPosition[]
  /** Bounds of the batch that each partition holds. */
  readonly bounds: DecodeBounds
  readonly withStandIns: boolean
  readonly onBatch: GroupReaderHandlers['onBatch']
  /** The latest batch of each partition, over all assignments and members of a reader. */
  readonly latestBatches: Map<string, Promise<unknown>>
  /** Batches that the member handles. */
  readonly inFlight: Set<Promise<unknown>>
  readonly onHandled: (batch: FetchedBatch) => void
  /** Called when a partition cannot be read: see {@link GroupReaderHandlers.onUnreadable}. */
  readonly onUnreadable: (topic: string, partition: number, error: Error) => void
  /** Called when `onBatch` rejects. The partition is not read again. */
  readonly onThrow: (error: Error) => void
  /** Aborted when the partitions may belong to another member. */
  readonly signal: AbortSignal
  /** Time in ms after which an undecodable batch is read again. Default: one minute. */
  readonly rereadAfterMs?: number
}

interface Cursor extends FetchPosition {
  /** Offset at which the next batch begins. */
  offset: bigint
  /** Refusals since the last fetch that succeeded. */
  refusals: number
  /** Those of them, in succession, for which the offset was not in the log. */
  outsideLog: number
}

/** Number of refusals, over about twelve seconds, after which each refusal of a partition is reported. */
const LASTING_REFUSALS = 15
/** Another replica may become the leader, or a disk may be repaired. */
const REREAD_AFTER_MS = 60_000

/** Keeps the positions of one assignment's partitions and their batches in flight. */
export function createAssignedPartitions(options: AssignedPartitionsOptions): Pick<ReadLoopParts, 'idle' | 'deliver'> {
  const { bounds, withStandIns, onBatch, latestBatches, inFlight, onHandled, onUnreadable, onThrow, signal } = options
  const { rereadAfterMs = REREAD_AFTER_MS } = options
  /** Brokers serve partitions in this order, so the partition that had a batch last comes last. */
  const idle = new Map<string, Cursor>()
  let busy = 0
  for (const one of options.positions)
    idle.set(topicPartition(one.topic, one.partition), { ...one, refusals: 0, outsideLog: 0 })

  const deliver: ReadLoopParts['deliver'] = (fetched) => {
    const latest = new Map<string, FetchedBatch>()
    const handling: Promise<RefusedPartition | undefined>[] = []
    const refused: RefusedPartition[] = []
    for (const one of fetched) {
      const name = topicPartition(one.topic, one.partition)
      const cursor = idle.get(name)
      if (cursor?.offset !== one.fetchedFrom) continue // another leader answered first
      if (one.errorCode === NO_ERROR) {
        cursor.refusals = cursor.outsideLog = 0
        const isEmpty = one.nextOffset === one.fetchedFrom && !one.damage
        if (!isEmpty) handling.push(handle(cursor, one, (batch) => latest.set(name, batch)))
      } else {
        refused.push(...refuse(name, cursor, one.errorCode))
      }
    }
    return { latest: () => [...latest.values()], handling, refused }
  }

  /** Leaves a refused partition out of fetches until it is retried. Throws if the broker will never serve it. */
  function refuse(name: string, cursor: Cursor, errorCode: number): readonly RefusedPartition[] {
    const { topic, partition, offset } = cursor
    const error = new PartitionRefusedError(topic, partition, errorCode)
    const isOutsideLog = errorCode === OFFSET_OUT_OF_RANGE
    if (!isOutsideLog && !error.retryable) throw error
    idle.delete(name)
    cursor.refusals += 1
    cursor.outsideLog = isOutsideLog ? cursor.outsideLog + 1 : 0
    if (cursor.outsideLog > MAX_OUTSIDE_LOG) {
      onUnreadable(topic, partition, new PositionOutsideLogError(topic, partition, offset))
      return []
    }
    if (cursor.refusals >= LASTING_REFUSALS) onUnreadable(topic, partition, error)
    return [{ error, refusals: cursor.refusals, retry: () => void idle.set(name, cursor) }]
  }

  /**
   * Decodes and handles one batch after the other, so that the partition holds only one. Leaves the partition out of fetches
   * for a while if a batch cannot be decoded, and returns it.
   */
  async function handle(
    cursor: Cursor,
    fetched: TimedPartition,
    onBegin: (batch: FetchedBatch) => void,
  ): Promise<RefusedPartition | undefined> {
    const { topic, partition } = cursor
    const name = topicPartition(topic, partition)
    idle.delete(name)
    busy += 1
    try {
      for await (const batch of fetchedBatches(fetched, { bounds, withStandIns })) {
        if (signal.aborted) break
        onBegin(batch)
        const continueAt = await handleInOrder(name, batch)
        cursor.offset = continueAt?.offset ?? batch.nextOffset
        if (continueAt) break
        onHandled(batch)
      }
      idle.set(name, cursor)
    } catch (error) {
      if (error instanceof UndecodableBatchError) {
        onUnreadable(topic, partition, error)
        return { error, refusals: 1, afterMs: rereadAfterMs, retry: () => void idle.set(name, cursor) }
      }
      onThrow(toError(error))
    } finally {
      busy -= 1
    }
    return undefined
  }

  /** A partition that was reassigned may still have a batch of its previous assignment in flight. */
  async function handleInOrder(name: string, batch: FetchedBatch): Promise<ContinueAt | void> {
    const previous = latestBatches.get(name)
    const handled = previous ? previous.catch(() => {}).then(() => onBatch(batch)) : onBatch(batch)
    latestBatches.set(name, handled)
    inFlight.add(handled)
    return handled.finally(() => inFlight.delete(handled))
  }

  return {
    idle: () => ({
      positions: Array.from(idle.values(), ({ topic, partition, offset }) => ({ topic, partition, offset })),
      areOthersBusy: busy > 0,
    }),
    deliver,
  }
}

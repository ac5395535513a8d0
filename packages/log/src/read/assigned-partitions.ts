import { PartitionRefusedError, PositionOutsideLogError } from '../errors.ts'
import { toError } from '../to-error.ts'
import { topicPartition } from '../topic-partition.ts'
import { NO_ERROR, OFFSET_OUT_OF_RANGE } from '../wire/error-codes.ts'
import type { FetchedPartition, FetchPosition } from '../wire/fetch-message.ts'
import { toFetchedBatches } from './fetched-batches.ts'
import type { Given, ReadLoopParts } from './read-loop.ts'
import type { FetchedBatch, GroupReaderHandlers } from './group-reader.ts'

export interface AssignedPartitionsOptions {
  /** Partitions without a position are not read. */
  readonly positions: readonly FetchPosition[]
  readonly maxBatchRecords: number
  readonly onBatch: GroupReaderHandlers['onBatch']
  /** The latest batch of each partition, over all assignments and members of a reader. */
  readonly latestBatches: Map<string, Promise<void>>
  /** Batches that the member handles. */
  readonly inFlight: Set<Promise<void>>
  readonly onHandled: (batch: FetchedBatch) => void
  /** Called when a partition cannot be read. It is not read again. */
  readonly onUnreadable: (topic: string, partition: number, error: Error) => void
  /** Called when `onBatch` rejects. The partition is not read again. */
  readonly onThrow: (error: Error) => void
  /** Aborted when the partitions may belong to another member. */
  readonly signal: AbortSignal
}

/** The partitions of one assignment: their positions and their batches in flight. */
type AssignedPartitions = Pick<ReadLoopParts, 'wanted' | 'give'>

interface Cursor extends FetchPosition {
  /** Offset at which the next batch begins. */
  offset: bigint
  /** Consecutive fetches for which the offset was not in the log. */
  misses: number
}

/** A former leader may lack the end of the log, so a few misses are tolerated. */
const MAX_MISSES = 3

export function createAssignedPartitions(options: AssignedPartitionsOptions): AssignedPartitions {
  const { maxBatchRecords, onBatch, latestBatches, inFlight, onHandled, onUnreadable, onThrow, signal } = options
  /** Brokers serve partitions in this order, so the partition that had a batch last comes last. */
  const idle = new Map<string, Cursor>()
  let busy = 0
  for (const one of options.positions) idle.set(topicPartition(one.topic, one.partition), { ...one, misses: 0 })

  function give(fetched: readonly FetchedPartition[]): Given {
    const batches: FetchedBatch[] = []
    const handling: Promise<void>[] = []
    let refusal: Error | undefined
    for (const one of fetched) {
      const name = topicPartition(one.topic, one.partition)
      const cursor = idle.get(name)
      if (cursor?.offset !== one.fetchedFrom) continue // another leader answered first
      refusal = refusalOf(cursor, one) ?? refusal
      const parts = batchesOf(cursor, one)
      if (parts.length === 0) continue
      batches.push(...parts)
      handling.push(handle(name, cursor, parts))
    }
    return { batches, handling, refusal }
  }

  /** Returns a temporary refusal. Throws if the broker will never serve the partition. */
  function refusalOf(cursor: Cursor, { topic, partition, errorCode }: FetchedPartition): Error | undefined {
    cursor.misses = errorCode === OFFSET_OUT_OF_RANGE ? cursor.misses + 1 : 0
    if (errorCode === NO_ERROR) return undefined
    const refused = new PartitionRefusedError(topic, partition, errorCode)
    if (errorCode !== OFFSET_OUT_OF_RANGE && !refused.retryable) throw refused
    if (cursor.misses <= MAX_MISSES) return refused
    giveUp(cursor, new PositionOutsideLogError(topic, partition, cursor.offset))
    return undefined
  }

  function batchesOf(cursor: Cursor, fetched: FetchedPartition): readonly FetchedBatch[] {
    try {
      return toFetchedBatches(fetched, maxBatchRecords)
    } catch (error) {
      giveUp(cursor, error as Error)
      return []
    }
  }

  function giveUp({ topic, partition }: Cursor, error: Error): void {
    idle.delete(topicPartition(topic, partition))
    onUnreadable(topic, partition, error)
  }

  async function handle(name: string, cursor: Cursor, parts: readonly FetchedBatch[]): Promise<void> {
    idle.delete(name)
    busy += 1
    try {
      for (const part of parts) {
        await handleInOrder(name, part)
        cursor.offset = part.nextOffset
        onHandled(part)
        if (signal.aborted) break
      }
      idle.set(name, cursor)
    } catch (error) {
      onThrow(toError(error))
    }
    busy -= 1
  }

  /** A partition that was reassigned may still have a batch of its previous assignment in flight. */
  async function handleInOrder(name: string, batch: FetchedBatch): Promise<void> {
    const previous = latestBatches.get(name)
    const handled = previous ? previous.catch(() => {}).then(() => onBatch(batch)) : onBatch(batch)
    latestBatches.set(name, handled)
    inFlight.add(handled)
    await handled.finally(() => inFlight.delete(handled))
  }

  return {
    wanted: () => ({ positions: [...idle.values()], areOthersBusy: busy > 0 }),
    give,
  }
}

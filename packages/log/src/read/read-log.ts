import { readWatermarks } from '../admin/with-log-admin.ts'
import { silentLogger } from '../connect/kafka-client.ts'
import { isMarkedFinal, keepTrying } from '../connect/keep-trying.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { PositionOutsideLogError } from '../errors.ts'
import type { Watermarks } from '../watermarks.ts'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import { type FetchedBatch, fetchedBatches } from './fetched-batch.ts'
import { createLogFetcher, FETCHER_TIMEOUTS } from './log-fetcher.ts'
import { MAX_BATCH_BYTES, readerBudget } from './read-budget.ts'
import { MAX_OUTSIDE_LOG, requireInLog } from './require-in-log.ts'

export interface ReadLogOptions {
  readonly topic: string
  /** Position of each partition to read. */
  readonly from: ReadonlyMap<number, bigint>
  /** Called for one batch at a time, in order within each partition. */
  readonly onBatch: (batch: FetchedBatch) => void | Promise<void>
  /**
   * Called after a fetch, once its batches are handled, if every partition is read to the end that its broker then had.
   * `asOfMs`: the `performance.now()` instant before the fetch.
   */
  readonly onLevel?: (asOfMs: number) => void
  /**
   * `end`: reads to the log's end at the start of the call. A map: reads each partition up to this offset, exclusive.
   * Default: reads until `signal` is aborted.
   */
  readonly until?: 'end' | ReadonlyMap<number, bigint> | undefined
  /** Reads each partition to its end before the next, in the order of the positions. Default: false, all at once. */
  readonly isOneByOne?: boolean
  readonly signal?: AbortSignal
  readonly maxBytesPerPartition?: number
  readonly maxBatchRecords?: number
  /** Maximum time in ms for which the broker holds a fetch that finds no records. Default: 100. */
  readonly maxWaitMs?: number
  /**
   * True: an undecodable batch becomes one record (`FetchedRecord.undecodable`). Default:
   * false, rejects with UndecodableBatchError.
   */
  readonly withStandIns?: boolean
  /** Default: 30,000 with `until`, else never. */
  readonly giveUpAfterMs?: number
  readonly logger?: Logger
}

/** Maximum bytes of a fetch. */
const MAX_FETCH_BYTES = 4 * 1024 * 1024
/** Maximum number of partitions that a fetch returns records of, if these have many. */
const PARTITIONS_A_FETCH = 10

/**
 * Reads partitions without a consumer group: commits no offsets, never rebalances, and has no session to lose. Decodes one
 * batch at a time. Prefetches once while batches are handled, so two fetches are held; all readers of a process share a
 * budget for them, and wait for it. Resolves at the end or when aborted. Rejects with the errors of `onBatch`, with
 * PositionOutsideLogError if a position stays outside the log, and if the log is unreachable for `giveUpAfterMs`.
 */
export async function readLog(connection: LogConnection, options: ReadLogOptions): Promise<void> {
  const { topic, until, onBatch, onLevel, withStandIns = false, logger = silentLogger } = options
  const { maxBatchRecords = 1_000, maxBytesPerPartition = 1024 * 1024, maxWaitMs } = options
  const { giveUpAfterMs = until === undefined ? Infinity : 30_000 } = options
  const ending = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, ending.signal]) : ending.signal
  const trying = { message: 'Cannot read the log; retrying', logger, signal, giveUpAfterMs }
  const partitions = Math.min(options.from.size, PARTITIONS_A_FETCH)
  const maxBytes = Math.min(MAX_FETCH_BYTES, partitions * maxBytesPerPartition)
  const heldBytes = maxBytes + MAX_BATCH_BYTES
  const decoding = { bounds: { maxRecords: maxBatchRecords, maxBytes: MAX_BATCH_BYTES }, withStandIns }
  const fetcher = createLogFetcher(connection, topic, {
    maxBytesPerPartition,
    maxBytes,
    ...(maxWaitMs !== undefined && { maxWaitMs }),
    logger,
    signal,
  })
  let giveBack: (() => void) | undefined
  let giveBackPrefetched: (() => void) | undefined

  async function handle(fetched: readonly FetchedPartition[], cursor: Cursor): Promise<void> {
    for (const one of fetched) {
      for await (const batch of fetchedBatches(one, decoding)) {
        const { wanted, isLast } = cursor.beforeEnd(batch)
        await onBatch(wanted)
        signal.throwIfAborted()
        if (isLast) break
      }
    }
  }

  let askedAtMs = performance.now()
  let prefetchedAtMs: number | undefined

  try {
    const cursor = await keepTrying(
      async () => createCursor(options, await readWatermarks(connection, topic, { ...FETCHER_TIMEOUTS, logger })),
      { ...trying, isFinal: createFinality() },
    )
    let positions = cursor.positions()
    if (cursor.isLevel) onLevel?.(askedAtMs)
    while (positions.size > 0) {
      const current = positions
      askedAtMs = prefetchedAtMs ?? performance.now()
      giveBack = giveBackPrefetched ?? (await readerBudget.take(heldBytes, signal))
      giveBackPrefetched = undefined
      const fetched = await keepTrying(() => fetcher.fetch(current), { ...trying, isFinal: createFinality() })
      fetched.forEach(cursor.advance)
      positions = cursor.positions()
      if (positions.size > 0) giveBackPrefetched = readerBudget.takeIfFree(heldBytes)
      prefetchedAtMs = giveBackPrefetched && performance.now()
      if (giveBackPrefetched) fetcher.prefetch(positions)
      await handle(fetched, cursor)
      if (fetched.every(({ nextOffset, highWatermark }) => nextOffset >= highWatermark)) onLevel?.(askedAtMs)
      giveBack()
    }
  } catch (error) {
    if (!options.signal?.aborted || error !== options.signal.reason) throw error
  } finally {
    ending.abort()
    giveBack?.()
    giveBackPrefetched?.()
  }
}

/** Returns a function that finds errors of one request final: the first few of an offset outside the log are not. */
function createFinality(): (error: unknown) => boolean {
  let outsideLog = 0
  return (error) => {
    outsideLog = error instanceof PositionOutsideLogError ? outsideLog + 1 : 0
    return outsideLog > 0 ? outsideLog > MAX_OUTSIDE_LOG : isMarkedFinal(error)
  }
}

interface Cursor {
  /** True if every partition begins at its end. */
  readonly isLevel: boolean
  /** Positions of the next fetch, without partitions that are read to the end. */
  readonly positions: () => ReadonlyMap<number, bigint>
  /** Moves past a fetch. */
  readonly advance: (fetched: Pick<FetchedPartition, 'partition' | 'nextOffset'>) => void
  /** Returns the part of a batch before the end. */
  readonly beforeEnd: (batch: FetchedBatch) => { readonly wanted: FetchedBatch; readonly isLast: boolean }
}

function createCursor(
  { topic, from, until, isOneByOne = false }: ReadLogOptions,
  watermarks: ReadonlyMap<number, Watermarks>,
): Cursor {
  const positions = new Map<number, bigint>()
  const ends = new Map<number, bigint>()
  for (const [partition, position] of from) {
    const marks = watermarks.get(partition)
    requireInLog(topic, partition, position, marks)
    const end = until === 'end' ? marks.high : until?.get(partition)
    if (end !== undefined) ends.set(partition, end)
    if (end === undefined || position < end) positions.set(partition, position)
  }

  return {
    isLevel: [...from].every(([partition, position]) => position === watermarks.get(partition)?.high),
    positions: () => new Map(isOneByOne ? [...positions].slice(0, 1) : positions),
    advance: ({ partition, nextOffset }) => {
      if (nextOffset === positions.get(partition)) return
      const end = ends.get(partition)
      const isRead = end !== undefined && nextOffset >= end
      // Goes to the end of the order, in which a broker serves partitions until the response is full.
      if (isRead || !isOneByOne) positions.delete(partition)
      if (!isRead) positions.set(partition, nextOffset)
    },
    beforeEnd: (batch) => {
      const end = ends.get(batch.partition)
      if (end === undefined || batch.nextOffset < end) return { wanted: batch, isLast: false }
      const records = batch.records.filter(({ offset }) => offset < end)
      return { wanted: { ...batch, nextOffset: end, records }, isLast: true }
    },
  }
}
